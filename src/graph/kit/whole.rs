//! Tests of a whole graph, from its input to its end.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use superstep_base::time::system_time;

use super::script::{EffectCall, Script, Test};
use crate::checkpoint::{Checkpointer, MemoryCheckpointer};
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::node::NodeId;
use crate::graph::records::clock;
use crate::graph::state::{State, Writes};
use crate::graph::thread::{Outcome, Request, Status, Thread};
use crate::graph::view::Shown;

/// The result of a run of a whole graph.
pub struct Ran<S: State, N, C = ()> {
    /// The state at its end, or at a question without a scripted answer.
    pub state: Arc<S>,
    /// Questions without a scripted answer.
    pub asks: Vec<Question>,
    /// The effects, in order.
    pub effects: Vec<EffectCall>,
    /// The time when it ended.
    pub ended_at: SystemTime,
    /// The thread of the run, `test`, in an in-memory store unless another was given: for its history, diffs and replays.
    pub thread: Thread<S, N, C>,
}

impl<S: State, N, C> fmt::Debug for Ran<S, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Ran");
        shown
            .field("state", &Shown(&*self.state))
            .field("asks", &self.asks.len())
            .field("effects", &self.effects)
            .finish()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Test<S, N, C> {
    /// Runs the graph from this input, through all scripted answers and waits.
    ///
    /// # Errors
    /// The error of the run.
    pub async fn run(&self, input: impl Into<Writes<S>>) -> Result<Ran<S, N, C>, RunError> {
        self.run_on(Arc::new(MemoryCheckpointer::new()), input).await
    }

    /// The same in a store of your own, which has no thread `test` yet.
    ///
    /// # Errors
    /// The error of the run.
    pub async fn run_on(
        &self,
        store: Arc<dyn Checkpointer>,
        input: impl Into<Writes<S>>,
    ) -> Result<Ran<S, N, C>, RunError> {
        let script = self.script();
        let thread = self.thread(store, &script);
        let end = run_to_end(&thread, Some(input.into()), &script).await?;
        let (asks, ended_at) = (end.questions().to_vec(), system_time(thread.core.environment.host.now()));
        Ok(Ran { state: Arc::clone(end.state()), asks, effects: script.calls(), ended_at, thread })
    }

    pub(super) fn thread(&self, store: Arc<dyn Checkpointer>, script: &Arc<Script>) -> Thread<S, N, C> {
        let graph = self.graph.clone().with_shared_checkpointer(store);
        let mut thread = graph.thread_with("test", Arc::clone(&self.context));
        thread.core.environment.host = self.host(script);
        thread.core.environment.stage = Some(Arc::clone(script) as _);
        thread
    }
}

/// Runs until nothing is left to do, or a question has no answer.
pub(crate) async fn run_to_end<S: State, N: NodeId, C: Send + Sync + 'static>(
    thread: &Thread<S, N, C>,
    input: Option<Writes<S>>,
    script: &Script,
) -> Result<Outcome<S>, RunError> {
    let mut outcome = match input {
        Some(input) => thread.invoke(input).await?,
        None => thread.proceed().await?,
    };
    loop {
        outcome = match outcome {
            Outcome::Interrupted(questions) => {
                let answers: Vec<_> = questions.iter().filter_map(|question| script.answer(question)).collect();
                if answers.is_empty() {
                    return Ok(Outcome::Interrupted(questions));
                }
                thread.run(Request::answers(answers)).await?
            }
            Outcome::Waiting { until, .. } | Outcome::AwaitingSignal { until: Some(until), .. } => {
                script.wait_until(clock::millis(until));
                thread.proceed().await?
            }
            Outcome::Stopped(_) => thread.proceed().await?,
            other => return Ok(other),
        };
    }
}

/// Resumes a thread whose process was cut, as a new process would.
pub(crate) async fn resume<S: State, N: NodeId, C: Send + Sync + 'static>(
    thread: &Thread<S, N, C>,
    input: Writes<S>,
    script: &Script,
) -> Result<Outcome<S>, RunError> {
    if thread.state().await?.is_none() {
        return run_to_end(thread, Some(input), script).await;
    }
    if let Status::Interrupted { questions } = thread.status().await? {
        let answers: Vec<_> = questions.iter().filter_map(|question| script.answer(question)).collect();
        if !answers.is_empty() {
            thread.run(Request::answers(answers)).await?;
        }
    }
    run_to_end(thread, None, script).await
}
