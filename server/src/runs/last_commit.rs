//! The records of a run in the commits of its thread: its start is written with the first one, and its end with the last one if it succeeds
//! and its end is nothing but records. `end` writes other ends. Must not know how a run is executed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use superstep::checkpoint::ItemWrite;
use superstep::graph::{AnyState, Name, Request};

use super::queue::{RunEnding, end_writes};
use crate::records::items::{Records, StoredRecord};
use crate::records::order::with_places;
use crate::records::run::{RunRecord, RunStatus};
use crate::records::thread::{StateMark, ThreadRecord};

/// A run that is to be executed, with its thread, as both are stored.
pub(super) struct StoredRun<'a> {
    pub run: &'a StoredRecord<RunRecord>,
    thread: &'a StoredRecord<ThreadRecord>,
    is_end_sent: Arc<AtomicBool>,
}

impl<'a> StoredRun<'a> {
    pub(super) fn new(thread: &'a StoredRecord<ThreadRecord>, run: &'a StoredRecord<RunRecord>) -> Self {
        Self { run, thread, is_end_sent: Arc::default() }
    }

    /// Adds to a request the start of the run, which is then as `begun` says, and its end.
    pub(super) fn begin(
        &self,
        request: Request<AnyState, Name>,
        begun: RunRecord,
        records: &Records,
    ) -> Request<AnyState, Name> {
        let start = self.run.replace(&begun);
        let request = match ends_with_commit(&begun) {
            true => {
                let end = LastCommit {
                    records: records.clone(),
                    thread: self.thread.clone(),
                    run: StoredRecord::after(&start, begun),
                    is_sent: Arc::clone(&self.is_end_sent),
                };
                request.with_items_at_end(|time| end.writes(time))
            }
            false => request,
        };
        request.with_items([start])
    }

    /// Returns whether the end is stored as the last commit has it: another one would have refused that.
    pub(super) async fn has_ended(&self, records: &Records) -> bool {
        let run = &self.run.record;
        self.is_end_sent.load(Ordering::Relaxed)
            && records.run(&run.thread, run.run).await.is_ok_and(|found| found.record.status == RunStatus::Success)
    }
}

/// Returns whether the end of a run can be in its last commit: neither its last events nor the values of a webhook come after that.
fn ends_with_commit(run: &RunRecord) -> bool {
    let has_webhook = run.request.get("webhook").is_some_and(|webhook| !webhook.is_null());
    !run.stores_events && !has_webhook
}

/// The records of a run that has begun, as its last commit expects them.
struct LastCommit {
    records: Records,
    thread: StoredRecord<ThreadRecord>,
    run: StoredRecord<RunRecord>,
    is_sent: Arc<AtomicBool>,
}

impl LastCommit {
    /// Returns the writes of the end; `time` is that of the last checkpoint.
    fn writes(self, time: u64) -> Vec<ItemWrite> {
        let seen_at = self.records.time();
        let state = StateMark { updated_at: time, is_open: false, seen_at, is_busy: false, has_failed: Some(false) };
        let end = (RunStatus::Success, None);
        let ending = RunEnding { end, state: Some(state), values: Value::Null, writes: vec![] };
        self.is_sent.store(true, Ordering::Relaxed);
        with_places(end_writes(&self.run, Some(&self.thread), &ending))
    }
}
