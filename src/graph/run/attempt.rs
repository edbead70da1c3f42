//! What one attempt of a task leaves behind for the next, and for its end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::Notify;

use super::ctx::{Facts, Inside, TaskCtx};
use super::error::RunError;
use crate::graph::define::node::NodeError;

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
            ..*self
        })
    }

    /// How many subgraphs the task has called, in earlier attempts too: a retried node starts its subgraphs over.
    pub(crate) fn called(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether this attempt has used an answer.
    pub(crate) fn answered(&self) -> bool {
        self.answers.as_ref().is_some_and(|known| !known.answers.is_empty()) && self.asked.load(Ordering::Relaxed) > 0
    }

    /// The failure of a subgraph that the body's error tells of, whatever type it was put into.
    pub(crate) fn passed_on(&self, error: &NodeError) -> Option<RunError> {
        let (inside, text) = (self.inside(), error.source().to_string());
        inside.failures.iter().find(|failure| failure.to_string() == text).cloned()
    }
}
