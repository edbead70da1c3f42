//! A typed run behind [`AnyRun`].

use std::sync::Arc;

use super::erased::AnyRun;
use super::failure::Exit;
use super::settings::GraphSettings;
use crate::checkpoint::BoxFuture;
use crate::graph::{Event, Outcome, Question, RunError, RunStream, State};

pub(crate) struct TypedRun<S> {
    pub stream: RunStream<S>,
    pub settings: Arc<GraphSettings<S>>,
}

impl<S: State> AnyRun for TypedRun<S> {
    fn next(&mut self) -> BoxFuture<'_, Option<Event>> {
        Box::pin(self.stream.next())
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, RunError>> {
        Box::pin(async move {
            Ok(match self.stream.outcome().await? {
                Outcome::Finished(state) => self.settings.outcome.map_or(Exit::Finished, |means| means(&state)),
                Outcome::Interrupted(asked) => self.settings.exit_code(asked.iter().map(Question::name)),
                Outcome::Stopped(_) | Outcome::Drained(_) | Outcome::Budget(..) => Exit::Halted,
                Outcome::Waiting { .. } | Outcome::AwaitingSignal { .. } => Exit::Waiting,
                Outcome::Cancelled(_) => Exit::Cancelled,
            })
        })
    }
}
