//! A thread as a list shows it, without its state: plain data, made once and then adjusted to the time of a query.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::status_kind::StatusKind;
use super::waits::SignalPosition;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::{CheckpointId, ThreadId};
use crate::checkpoint::leases::place::ThreadPlace;
use crate::checkpoint::owner::LeaseOwner;
use crate::checkpoint::task_record::ReceiveRecord;
use crate::checkpoint::thread_record::ForeignRecord;

/// A thread as its records show it. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListedThread {
    /// The name.
    pub id: ThreadId,
    /// The name of its graph; empty if nothing of it is stored.
    pub graph: String,
    /// The status. Breakpoints and a needed migration do not show here, because only the graph knows of them.
    pub status: StatusKind,
    /// The process that runs it, if it is running.
    #[serde(skip)]
    pub owner: Option<Arc<LeaseOwner>>,
    /// The newest checkpoint.
    pub checkpoint: Option<CheckpointId>,
    /// The last superstep, from -1.
    pub step: i64,
    /// The time of its first write.
    pub created_at: u64,
    /// The time of its newest checkpoint.
    pub updated_at: u64,
    /// The fingerprint of the graph that stored its newest checkpoint.
    pub fingerprint: u64,
    /// The import time and trust, if it was made elsewhere.
    pub foreign: Option<ForeignRecord>,
    /// The metadata of its newest checkpoint.
    pub metadata: Vec<(String, String)>,
    /// The earliest time at which a waiting task can resume.
    pub wake: Option<u64>,
    /// The signals that its tasks wait for.
    pub awaits: Vec<ReceiveRecord>,
    /// The reason why it is damaged.
    pub reason: Option<String>,
    /// True if breakpoints are stored with it.
    pub has_stops: bool,
    /// The machine and the folder that its work is bound to.
    pub place: Option<ThreadPlace>,
    /// The time of a request that a runner resumes it, whatever its status is.
    pub requested_at: Option<u64>,
    /// The time since when or from when it can go on by itself; `None` if it waits for a person or for a signal without an
    /// end, has finished or failed, is running, damaged or not trusted.
    pub due: Option<u64>,
    /// True if it can go on now, whatever the time is since when it can.
    pub(crate) ready: bool,
    /// The times at which waiting tasks can resume, in order.
    pub(crate) wakes: Vec<u64>,
    pub(crate) progress: Progress,
    /// The version that its graph declared when it stored the newest checkpoint; 0 if it declares none.
    pub version: u32,
}

/// Progress of the tasks of a checkpoint; a runner compares it to see whether a thread has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The number of entries in their journals.
    pub(crate) entries: u64,
    /// The first signal in the mailbox that one of them waits for.
    pub(crate) signal: Option<SignalPosition>,
    /// A hash of the pending questions.
    pub(crate) questions: u64,
}

impl ListedThread {
    /// Returns a thread of which only the status is known.
    pub(super) fn new(id: &ThreadId, status: StatusKind) -> Self {
        Self {
            id: id.clone(),
            graph: String::new(),
            status,
            owner: None,
            checkpoint: None,
            step: -1,
            created_at: 0,
            updated_at: 0,
            fingerprint: 0,
            foreign: None,
            metadata: vec![],
            wake: None,
            awaits: vec![],
            reason: None,
            has_stops: false,
            place: None,
            requested_at: None,
            due: None,
            ready: false,
            wakes: vec![],
            progress: Progress::default(),
            version: 0,
        }
    }

    /// Returns a thread whose records cannot be read.
    pub(crate) fn damaged(id: &ThreadId, error: &CheckpointError) -> Self {
        Self { reason: Some(error.to_string()), ..Self::new(id, StatusKind::Damaged) }
    }

    /// Returns the thread with a request that a runner resumes it: it no longer waits.
    pub(super) fn requested(mut self, at: u64) -> Self {
        if matches!(self.status, StatusKind::Waiting | StatusKind::AwaitingSignal) {
            self.status = StatusKind::Pending;
        }
        Self { due: Some(at), ready: true, ..self }
    }

    /// Adjusts a summary that was made of records to a time in milliseconds since 1970, and to the trust in its store.
    pub(crate) fn at(mut self, now: u64, is_store_foreign: bool) -> Self {
        self.ready |= self.due.is_some_and(|due| due <= now);
        if self.ready && matches!(self.status, StatusKind::Waiting | StatusKind::AwaitingSignal) {
            self.status = StatusKind::Pending;
        }
        self.wake = self.wakes.iter().copied().find(|wake| *wake > now);
        self.foreign = ForeignRecord::effective(self.foreign, is_store_foreign);
        self.due = self.due.filter(|_| self.is_trusted());
        self
    }

    /// Returns true if it can go on by itself at the time to which it was adjusted.
    pub(crate) fn can_resume(&self) -> bool {
        self.ready && self.due.is_some()
    }

    /// Returns true unless it was made elsewhere and nobody has trusted it.
    pub(crate) fn is_trusted(&self) -> bool {
        self.foreign.as_ref().is_none_or(|foreign| foreign.trusted)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn summary(id: &str, status: StatusKind) -> ListedThread {
        ListedThread { graph: "g".into(), ..ListedThread::new(&id.into(), status) }
    }

    #[test]
    fn a_wait_is_over_at_its_time() {
        let wait = ListedThread { due: Some(5), wakes: vec![5, 9], ..summary("t", StatusKind::Waiting) };
        let at = |now| wait.clone().at(now, false);
        assert_eq!((at(4).status, at(4).wake, at(4).can_resume()), (StatusKind::Waiting, Some(5), false));
        assert_eq!((at(5).status, at(5).wake, at(5).can_resume()), (StatusKind::Pending, Some(9), true));
        let foreign = wait.clone().at(5, true);
        assert_eq!((foreign.status, foreign.due, foreign.can_resume()), (StatusKind::Pending, None, false));
    }
}
