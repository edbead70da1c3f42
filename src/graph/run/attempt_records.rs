//! The records of a task whose body is running: its failed attempts, stored before the next one or before its error handler
//! starts, so that both hold across processes.

use std::sync::{Arc, PoisonError};

use crate::checkpoint::{FailureRecord, HandledRecord, Key, TaskRecord, encode_record};
use crate::graph::error::{NodeError, RunError};
use crate::graph::records::Recorder;
use crate::graph::superstep::task::note_failure;
use crate::graph::superstep::{LatestRecord, Past, Starts, Task};

pub(crate) struct AttemptRecords {
    recorder: Arc<Recorder>,
    key: Key,
    /// The record and the starts of the task when its first attempt began.
    before: Past,
    starts: Starts,
    /// The record that was stored last, for a run that drops the task.
    latest: LatestRecord,
}

impl AttemptRecords {
    /// Takes the place of a task's earlier records in this run.
    pub(crate) fn of(task: &mut Task, recorder: Arc<Recorder>, key: Key) -> Self {
        let latest = LatestRecord::default();
        task.latest = Some(Arc::clone(&latest));
        Self { recorder, key, before: task.record.clone(), starts: task.starts, latest }
    }

    /// Stores the failures so far and when the next attempt starts; waits as the durability requires.
    pub(crate) async fn before_attempt(
        &self,
        failures: &[FailureRecord],
        not_before: u64,
        first_call: u32,
    ) -> Result<(), RunError> {
        let started = failures.len() as u32;
        let record = TaskRecord { wake: Some(not_before), first_call, ..self.after(failures, started) };
        self.store(record).await
    }

    /// Stores the failures so far and the error that the handler is for: from now on only the handler runs.
    pub(crate) async fn before_handler(
        &self,
        mut failures: Vec<FailureRecord>,
        error: &NodeError,
        now: u64,
    ) -> Result<(), RunError> {
        let error = error.to_string();
        failures.push(FailureRecord { error: error.clone(), at: now });
        let handled = Some(HandledRecord { error: error.clone() });
        let record = self.after(&failures, failures.len() as u32);
        self.store(TaskRecord { error: Some(error), handled, ..record }).await
    }

    /// Returns the record of the task once so many attempts of this run have started.
    fn after(&self, failures: &[FailureRecord], started: u32) -> TaskRecord {
        let first = self.starts.all;
        let attempts = first + started.saturating_sub(1);
        let mut record = TaskRecord { attempts, attempt: started, ..TaskRecord::clone(&self.before) };
        (first..).zip(failures).for_each(|(attempt, failure)| note_failure(&mut record, attempt, failure.clone()));
        record
    }

    async fn store(&self, record: TaskRecord) -> Result<(), RunError> {
        let bytes = encode_record(&record)?;
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
        Ok(self.recorder.commit(vec![(self.key.clone(), bytes)], None).await?)
    }
}
