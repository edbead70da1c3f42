//! The threads that are running, and those given up because they make no progress. Pure.

use std::collections::{HashMap, HashSet};

use crate::checkpoint::{CheckpointId, ThreadId};
use crate::graph::interrupt::InterruptId;
use crate::graph::thread::{Progress, StatusKind, ThreadInfo};

/// The position of a thread as listed; it changes when the thread makes progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    checkpoint: Option<CheckpointId>,
    standing: StatusKind,
    questions: Vec<InterruptId>,
    progress: Progress,
}

impl From<&ThreadInfo> for Mark {
    fn from(info: &ThreadInfo) -> Self {
        let questions = info.questions.iter().map(|question| question.id()).collect();
        Self { checkpoint: info.checkpoint, standing: info.standing, questions, progress: info.progress }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    running: HashSet<ThreadId>,
    /// Number of resumes of a thread at this position.
    tries: HashMap<ThreadId, (Mark, u32)>,
    left: HashMap<ThreadId, Mark>,
    cancelled: HashSet<ThreadId>,
}

impl Ledger {
    pub(super) fn is_running(&self, thread: &ThreadId) -> bool {
        self.running.contains(thread)
    }

    /// Returns true if the thread reached the limit of resumes at this position.
    pub(super) fn has_given_up(&self, thread: &ThreadId, mark: &Mark, resumes: u32) -> bool {
        self.tries.get(thread).is_some_and(|(known, times)| known == mark && *times >= resumes)
    }

    pub(super) fn begin(&mut self, thread: &ThreadId, mark: Mark) {
        self.running.insert(thread.clone());
        match self.tries.get_mut(thread) {
            Some((known, times)) if *known == mark => *times += 1,
            _ => _ = self.tries.insert(thread.clone(), (mark, 1)),
        }
    }

    pub(super) fn end(&mut self, thread: &ThreadId) {
        self.running.remove(thread);
    }

    /// Records that its graph does not resume the thread at this position.
    pub(super) fn leave(&mut self, thread: ThreadId, mark: Mark) {
        self.left.insert(thread, mark);
    }

    /// Returns true if its graph does not resume the thread at this position, or it was cancelled.
    pub(super) fn is_left(&self, thread: &ThreadId, mark: &Mark) -> bool {
        self.cancelled.contains(thread) || self.left.get(thread) == Some(mark)
    }

    pub(super) fn cancel(&mut self, thread: ThreadId) {
        self.cancelled.insert(thread);
    }
}
