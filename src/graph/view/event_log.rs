//! What nodes emitted in one superstep of the root graph, as far as it was recorded: taken by the tasks that emitted it. A
//! replay sends it to its listeners.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::event::{EventKind, EventTask, Mode, Sink, task_id};
use crate::checkpoint::{CheckpointId, EventRecord, EventRecordKind, Key, Order};
use crate::graph::error::RunError;
use crate::graph::records::{CheckpointInfo, ListedCheckpoint, Reader};

/// An event for listeners: its superstep, task and content.
pub(crate) type RecordedEvent = (i64, EventTask, EventKind);

/// Recorded events by their numbers.
#[derive(Default)]
pub(crate) struct EventLog(Mutex<BTreeMap<(CheckpointId, u64), EventRecord>>);

impl EventLog {
    /// Takes up the events of the supersteps that began at these checkpoints of the root graph.
    pub(crate) async fn load(&self, reader: &Reader, first: CheckpointId, last: CheckpointId) -> Result<(), RunError> {
        let key = |checkpoint, number| Key::Event { checkpoint, number };
        let mut records = BTreeMap::new();
        for (key, bytes) in reader.scan(key(first, 0)..=key(last, u64::MAX)).await? {
            if let Key::Event { checkpoint, number } = key {
                records.insert((checkpoint, number), EventRecord::decode(&reader.thread, "event", &bytes)?);
            }
        }
        *self.lock() = records;
        Ok(())
    }

    /// Returns the events that a task emitted, and those of subgraphs that are recorded under it.
    pub(crate) fn of(&self, checkpoint: CheckpointId, task: u32) -> Vec<RecordedEvent> {
        let mut records = self.lock();
        let own = |record: &EventRecord| (record.checkpoint, record.task) == (checkpoint, task);
        let (taken, left) = std::mem::take(&mut *records).into_iter().partition(|(_, record)| own(record));
        *records = left;
        events_of(taken)
    }

    /// Returns the events of no task.
    pub(crate) fn rest(&self) -> Vec<RecordedEvent> {
        events_of(std::mem::take(&mut *self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(CheckpointId, u64), EventRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn events_of(records: BTreeMap<(CheckpointId, u64), EventRecord>) -> Vec<RecordedEvent> {
    records.into_values().map(event).collect()
}

fn event(record: EventRecord) -> RecordedEvent {
    let (step, task) = (record.step, emitter(&record));
    let value = serde_json::from_str(&record.value).unwrap_or_default();
    let kind = match record.kind {
        EventRecordKind::Custom => EventKind::Custom { value },
        EventRecordKind::Message => EventKind::Message { value, tags: record.tags.into() },
    };
    (step, task, kind)
}

/// The task that emitted an event; the nearest one that is kept, where the record has no more.
fn emitter(record: &EventRecord) -> EventTask {
    let own = record.path.last().and_then(|place| place.strip_prefix(record.node.as_str())?.strip_prefix(':'));
    let id = own.map_or_else(|| task_id(record.checkpoint, record.task).into(), Into::into);
    EventTask { node: record.node.as_str().into(), id, path: record.path.as_slice().into() }
}

impl Reader {
    /// Returns true if the thread has recorded events.
    pub(crate) async fn has_events(&self) -> Result<bool, RunError> {
        let key = |end| Key::Event { checkpoint: CheckpointId(end), number: end };
        Ok(!self.store.scan(&self.thread, key(0)..=key(u64::MAX), Order::Ascending, 1).await?.is_empty())
    }

    /// The newest checkpoint of the root graph that was made before one.
    pub(crate) async fn made_before(&self, id: CheckpointId) -> Result<CheckpointId, RunError> {
        let before = Key::Checkpoint(CheckpointId(id.0.saturating_sub(1)));
        let range = Key::Checkpoint(CheckpointId(0))..=before;
        let found = self.store.scan(&self.thread, range, Order::Descending, 1).await?;
        Ok(match found.first() {
            Some((Key::Checkpoint(id), _)) => *id,
            _ => CheckpointId(0),
        })
    }
}

/// A filter for checkpoints.
pub(crate) type CheckpointFilter = Box<dyn Fn(&CheckpointInfo) -> bool + Send + Sync>;

/// The listener of a replay, and the recorded events.
pub(crate) struct ReplayListener {
    pub sink: Sink,
    pub events: EventLog,
    /// The checkpoints of the run whose events are wanted, if not those of all.
    pub since: Option<CheckpointFilter>,
    /// Set if there are recorded events and a listener takes them.
    pub listens: bool,
}

impl ReplayListener {
    /// Returns true if an event shows a state.
    pub(crate) fn needs_states(&self, names: &[String]) -> bool {
        [Mode::Values, Mode::Tasks, Mode::Checkpoints].iter().any(|mode| self.sink.wants(*mode, names.is_empty()))
    }

    /// Removes the checkpoints before those of the run, but for the last: its base, which is returned. It is the newest one, if the run has
    /// made none.
    pub(crate) fn trim(&self, line: &mut Vec<ListedCheckpoint>) -> Option<CheckpointId> {
        let is_wanted = self.since.as_ref()?;
        let first = line.iter().position(|(id, record)| is_wanted(&CheckpointInfo::of(*id, record)));
        let base = first.unwrap_or(line.len()).checked_sub(1)?;
        line.drain(..base);
        line.first().map(|(id, _)| *id)
    }
}
