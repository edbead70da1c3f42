//! Tasks of a checkpoint that wait for a time or a signal, read from their records, without a graph.

use std::collections::HashSet;
use std::time::SystemTime;

use super::handle::ThreadCore;
use crate::checkpoint::{CheckpointError, CheckpointId, Checkpointer, Key, TaskRecord, TaskStatus, ThreadId};
use crate::graph::error::RunError;
use crate::graph::interrupt::{AwaitedSignal, SignalId};
use crate::graph::records::mailbox::pending_signals;
use crate::graph::records::{PendingSignal, Reader, Tasks, clock};
use crate::graph::state::AnyState;
use crate::graph::view::Snapshot;

/// Waits of a checkpoint's tasks, none of which can run.
#[derive(Debug)]
pub(crate) struct Resting {
    /// The earliest time at which a task can resume.
    pub until: Option<SystemTime>,
    pub signals: Vec<AwaitedSignal>,
}

/// Signals that have arrived for the tasks of a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct ArrivedSignals {
    pending_signals: Vec<PendingSignal>,
    /// Journal entries that hold a signal which no task record mentions, because the process was killed.
    received: HashSet<(u32, String)>,
}

impl ArrivedSignals {
    /// Reads the mailbox and the journals, if a task waits for a signal.
    pub(crate) async fn read(
        store: &dyn Checkpointer,
        thread: &ThreadId,
        checkpoint: CheckpointId,
        tasks: &Tasks,
    ) -> Result<Self, CheckpointError> {
        let waiting = tasks.iter().filter(|(_, task)| may_wait(task));
        let entry = |task: u32, record: &TaskRecord| {
            let entries: Vec<_> = record.receives.iter().map(|awaited| (task, awaited.entry.clone())).collect();
            entries
        };
        let entries: Vec<(u32, String)> = waiting.flat_map(|(task, record)| entry(*task, record)).collect();
        if entries.is_empty() {
            return Ok(Self::default());
        }
        let key = |(task, key): &(u32, String)| Key::Effect { checkpoint, task: *task, key: key.clone() };
        let found = store.get(thread, entries.iter().map(key).collect()).await?;
        let received = entries.into_iter().zip(found).filter_map(|(entry, found)| found.map(|_| entry)).collect();
        Ok(Self { pending_signals: pending_signals(store, thread).await?, received })
    }

    /// Returns true if a task can run: its time or one of its signals has come.
    pub(crate) fn wakes(&self, task: u32, record: &TaskRecord, now: u64) -> bool {
        let due = record.wake.is_some_and(|wake| wake <= now);
        due || self.signals(task, record)
    }

    /// Returns true if one of the signals that a task waits for has arrived.
    pub(crate) fn signals(&self, task: u32, record: &TaskRecord) -> bool {
        record.receives.iter().any(|awaited| {
            let sent = self.pending_signals.iter().any(|pending| pending.is_awaited(awaited));
            sent || self.received.contains(&(task, awaited.entry.clone()))
        })
    }

    /// Returns the first signal that a task waits for.
    pub(crate) fn first<'a>(&self, mut records: impl Iterator<Item = &'a TaskRecord>) -> Option<SignalId> {
        let first = |awaited| self.pending_signals.iter().find(|pending| pending.is_awaited(awaited));
        records.find_map(|record| record.receives.iter().find_map(first)).map(|pending| pending.id)
    }
}

/// Returns true if a task may wait for a time or a signal.
pub(crate) fn may_wait(record: &TaskRecord) -> bool {
    matches!(record.status, TaskStatus::Waiting | TaskStatus::Interrupted)
}

/// Returns true if a task waits for a time or a signal, and for no answer, and neither has come.
pub(crate) fn rests((task, record): (u32, &TaskRecord), arrived: &ArrivedSignals, now: u64) -> bool {
    let waits = record.wake.is_some() || !record.receives.is_empty();
    record.status == TaskStatus::Waiting && waits && !arrived.wakes(task, record, now)
}

impl ThreadCore {
    /// Returns the waits of the thread, if every unfinished task waits for a time or a signal that has not come.
    pub(crate) async fn resting(
        &self,
        reader: &Reader,
        id: CheckpointId,
        snapshot: &Snapshot<AnyState>,
    ) -> Result<Option<Resting>, RunError> {
        let now = self.environment.host.now();
        let waiting = snapshot.tasks.iter().filter(|task| task.wake.is_some() || !task.awaits.is_empty());
        if waiting.clone().count() < snapshot.next.len() || snapshot.next.is_empty() {
            return Ok(None);
        }
        let records = reader.tasks(id).await?;
        let arrived = ArrivedSignals::read(&*reader.store, &reader.thread, id, &records).await?;
        let resting = records.iter().filter(|(task, record)| rests((**task, *record), &arrived, now)).count();
        let until = waiting.clone().filter_map(|task| task.wake).filter(|&wake| clock::millis(wake) > now).min();
        let signals = waiting.flat_map(|task| task.awaits.clone()).collect();
        Ok((resting == snapshot.next.len()).then_some(Resting { until, signals }))
    }
}
