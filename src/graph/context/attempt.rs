//! What one attempt of a task leaves behind for the next, and for its end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::Notify;

use super::task::{Facts, Inside, Raised, TaskCtx};
use crate::checkpoint::panics::caught;
use crate::graph::error::{NodeError, RunError};

impl<C> TaskCtx<C> {
    /// The context of another attempt: its questions count from the beginning.
    pub(crate) fn retried(&self, attempt: u32, facts: Option<&Arc<Facts>>, beat: Option<Arc<Notify>>) -> Arc<Self> {
        let (lent, ended) = {
            let mut before = self.inside();
            (before.lent.clone(), std::mem::take(&mut before.ended))
        };
        Arc::new(Self {
            shared: Arc::clone(&self.shared),
            level: Arc::clone(&self.level),
            facts: Arc::clone(facts.unwrap_or(&self.facts)),
            answers: self.answers.clone(),
            again: self.again,
            asked: AtomicU32::new(0),
            calls: AtomicU32::new(0),
            raised: OnceLock::new(),
            inside: Mutex::new(Inside { lent, ended, ..Inside::default() }),
            children: self.children.clone(),
            journal: self.journal.clone(),
            attempt,
            beat,
            permits: self.permits.clone(),
            ..*self
        })
    }

    /// Stops the task. What was raised first says how it ended; what branches that ran at the same time ask and wait for
    /// stands beside it, and what is wrong is told in any case.
    pub(crate) fn raise(&self, raised: Raised) {
        if let Some(scope) = self.effect_scope() {
            scope.stop();
        }
        let Err(beside) = self.raised.set(raised) else { return };
        let mut inside = self.inside();
        match beside {
            Raised::Ask(question) => inside.questions.push(question),
            Raised::Sleep(until) => inside.note_wake(Some(until)),
            Raised::Wrong(error) => inside.wrong = inside.wrong.take().or(Some(error)),
            Raised::Inside | Raised::Signal(_) | Raised::Parent(..) | Raised::Stopped(_) => {}
        }
    }

    /// How many subgraphs the task has called, in earlier attempts too: a retried node starts its subgraphs over.
    pub(crate) fn called(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether this attempt has used an answer.
    pub(crate) fn answered(&self) -> bool {
        let Some(known) = self.answers.as_ref().filter(|known| !known.answers.is_empty()) else { return false };
        self.inside().places.iter().any(|place| known.answers.contains_key(place))
    }

    /// The failure of a subgraph that the body's error tells of, whatever type it was put into.
    pub(crate) fn passed_on(&self, error: &NodeError) -> Option<RunError> {
        let text = caught(|| error.source().to_string()).ok()?;
        let inside = self.inside();
        inside.failures.iter().find(|failure| failure.to_string() == text).cloned()
    }
}
