//! What one attempt of a task leaves behind for the next, and for its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use superstep_base::panics::catch_panic;
use tokio::sync::Notify;

use super::task::{Attempt, AttemptProgress, AttemptState, NodeMeta, QuestionUse, Raised, SubgraphCalls, TaskCtx};
use crate::graph::error::{NodeError, RunError};

impl TaskCtx {
    /// The context of another attempt: its questions count from the beginning.
    pub(crate) fn retried(&self, attempt: u32, facts: Option<&Arc<NodeMeta>>, beat: Option<Arc<Notify>>) -> Arc<Self> {
        let progress = {
            let mut before = self.state();
            let questions = QuestionUse { owner: before.questions.owner.clone(), ..QuestionUse::default() };
            let subgraphs =
                SubgraphCalls { ended: std::mem::take(&mut before.subgraphs.ended), ..SubgraphCalls::default() };
            let state = AttemptState { questions, subgraphs, ..AttemptState::default() };
            AttemptProgress::of(state)
        };
        Arc::new(Self {
            shared: Arc::clone(&self.shared),
            scope: Arc::clone(&self.scope),
            facts: Arc::clone(facts.unwrap_or(&self.facts)),
            at: self.at,
            attempt: Attempt { number: attempt, beat, ..self.attempt },
            answers: self.answers.clone(),
            children: self.children.clone(),
            locations: self.locations.clone(),
            moved_state: None,
            permits: self.permits.clone(),
            journal: self.journal.clone(),
            progress,
        })
    }

    /// Stops the task. What was raised first says how it ended; what branches that ran at the same time ask and wait for
    /// is kept beside it, and an error is reported in any case.
    pub(crate) fn raise(&self, raised: Raised) {
        if self.progress.has_ended() {
            return self.raise_late(raised);
        }
        if let Some(scope) = self.effect_scope() {
            scope.stop();
        }
        let Err(beside) = self.progress.raise(raised) else { return };
        let mut state = self.state();
        match *beside {
            Raised::Ask(question) => state.waits.questions.entry(None).or_default().push(question),
            Raised::Sleep(until) => state.note_wake(Some(until)),
            Raised::Wrong(error) => state.waits.wrong = state.waits.wrong.take().or(Some(error)),
            Raised::Inside | Raised::Signal(_) | Raised::Parent(..) | Raised::Stopped(_) => {}
        }
    }

    /// Returns the number of subgraphs that the task has called, in earlier attempts too: a retried node starts its
    /// subgraphs over.
    pub(crate) fn called(&self) -> u32 {
        self.progress.calls.load(Ordering::Relaxed)
    }

    /// Returns true if this attempt has used an answer.
    pub(crate) fn answered(&self) -> bool {
        let Some(known) = self.answers.as_ref().filter(|known| !known.answers.is_empty()) else { return false };
        self.state().questions.places.iter().any(|place| known.answers.contains_key(place))
    }

    /// The failure of a subgraph that the body's error tells of, whatever type it was put into.
    pub(crate) fn passed_on(&self, error: &NodeError) -> Option<RunError> {
        let text = catch_panic(|| error.source().to_string()).ok()?;
        let state = self.state();
        state.subgraphs.failures.iter().find(|failure| failure.to_string() == text).cloned()
    }
}

impl TaskCtx {
    /// Notes that the body has ended. What somebody who still holds its context raises from then on fails the run.
    pub(crate) fn end(self: &Arc<Self>) {
        self.progress.end();
        if Arc::strong_count(self) > 1 {
            let held = Arc::downgrade(self);
            self.shared.stragglers.add(self.id(), held);
        }
    }

    /// Notes what was raised after the body had ended.
    fn raise_late(&self, raised: Raised) {
        let node = Arc::clone(&self.facts.name);
        let error = match raised {
            Raised::Ask(question) => RunError::QuestionIgnored { node, question: question.name },
            Raised::Sleep(_) => RunError::QuestionIgnored { node, question: "of how long to sleep".into() },
            Raised::Inside | Raised::Stopped(_) => {
                RunError::QuestionIgnored { node, question: "of its subgraph".into() }
            }
            Raised::Signal(signal) => RunError::SignalIgnored { node, signal },
            Raised::Wrong(error) => error,
            Raised::Parent(..) => RunError::NoParentGraph { node },
        };
        tracing::error!(node = %self.facts.name, %error, "a task that a node spawned asks after the node has ended");
        self.shared.stragglers.fail(self.id(), error);
    }
}
