//! One thread's records, as its store and the run that reads have them; and the active one of a node's subgraphs, which has a
//! pending question. Knows no state and no table.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::cache::KnownValues;
use super::ids::BY_HANDLER;
use super::recorder::Recorder;
use crate::checkpoint::{
    CheckpointId, CheckpointRecord, Checkpointer, Key, Order, Shape, TaskRecord, TaskRecords, TaskStatus, ThreadId,
    decode_record,
};
use crate::graph::error::RunError;

/// The records of a checkpoint's tasks, by their keys.
pub(crate) type Tasks = TaskRecords;

/// A subgraph's newest checkpoint: by task and call.
pub(crate) type ChildPointer = (u32, u32, CheckpointId);

/// Reads one thread's records.
#[derive(Clone)]
pub(crate) struct Reader {
    pub store: Arc<dyn Checkpointer>,
    pub thread: ThreadId,
    pub birth: u64,
    /// The run that reads: what it has queued counts as stored.
    pub recorder: Option<Arc<Recorder>>,
    /// Values that were read before, if they are kept.
    pub known: Option<KnownValues>,
}

/// Reads what a run has written, queued or not.
pub(crate) fn reader(recorder: &Arc<Recorder>) -> Reader {
    let thread = recorder.lease().thread().clone();
    Reader {
        store: Arc::clone(recorder.store()),
        thread,
        birth: recorder.birth(),
        recorder: Some(Arc::clone(recorder)),
        known: None,
    }
}

impl Reader {
    pub(crate) async fn get(&self, keys: Vec<Key>) -> Result<Vec<Option<Vec<u8>>>, RunError> {
        let Some(recorder) = &self.recorder else { return Ok(self.store.get(&self.thread, keys).await?) };
        recorder.catch_up().await?;
        let held = recorder.held_records(&keys)?;
        let mut found = self.store.get(&self.thread, keys).await?;
        for (found, held) in found.iter_mut().zip(held) {
            *found = held.or(found.take());
        }
        Ok(found)
    }

    /// Records of a range, smallest key first.
    pub(crate) async fn scan(&self, range: RangeInclusive<Key>) -> Result<Vec<(Key, Vec<u8>)>, RunError> {
        let Some(recorder) = &self.recorder else {
            return Ok(self.store.scan(&self.thread, range, Order::Ascending, usize::MAX).await?);
        };
        recorder.catch_up().await?;
        let held = recorder.held_in(&range)?;
        let found = self.store.scan(&self.thread, range, Order::Ascending, usize::MAX).await?;
        if held.is_empty() {
            return Ok(found);
        }
        let mut all: BTreeMap<Key, Vec<u8>> = found.into_iter().collect();
        all.extend(held);
        Ok(all.into_iter().collect())
    }

    /// Returns true if there is a record in a range after its first key.
    pub(crate) async fn goes_on(&self, range: RangeInclusive<Key>) -> Result<bool, RunError> {
        let mut held = vec![];
        if let Some(recorder) = &self.recorder {
            recorder.catch_up().await?;
            held = recorder.held_in(&range)?;
        }
        let found = self.store.scan(&self.thread, range.clone(), Order::Ascending, 2).await?;
        Ok(held.iter().chain(&found).any(|(key, _)| key > range.start()))
    }

    pub(crate) async fn get_one(&self, key: Key) -> Result<Option<Vec<u8>>, RunError> {
        Ok(self.get(vec![key]).await?.pop().flatten())
    }

    pub(crate) async fn child(
        &self,
        checkpoint: CheckpointId,
        task: u32,
        call: u32,
    ) -> Result<Option<CheckpointId>, RunError> {
        let bytes = self.get_one(Key::Child { checkpoint, task, call }).await?;
        Ok(bytes.map(|bytes| decode_record(&self.thread, "child pointer", &bytes)).transpose()?)
    }

    /// The newest checkpoints of the subgraphs that the tasks of a checkpoint run: by task and call.
    pub(crate) async fn children(&self, checkpoint: CheckpointId) -> Result<Vec<ChildPointer>, RunError> {
        let key = |end| Key::Child { checkpoint, task: end, call: end };
        self.pointers(key(0)..=key(u32::MAX)).await
    }

    /// Those of one task.
    pub(crate) async fn children_of(&self, checkpoint: CheckpointId, task: u32) -> Result<Vec<ChildPointer>, RunError> {
        let key = |call| Key::Child { checkpoint, task, call };
        self.pointers(key(0)..=key(u32::MAX)).await
    }

    async fn pointers(&self, range: RangeInclusive<Key>) -> Result<Vec<ChildPointer>, RunError> {
        let mut children = vec![];
        for (key, bytes) in self.scan(range).await? {
            if let Key::Child { task, call, .. } = key {
                children.push((task, call, decode_record(&self.thread, "child pointer", &bytes)?));
            }
        }
        Ok(children)
    }

    pub(crate) async fn tasks(&self, checkpoint: CheckpointId) -> Result<Tasks, RunError> {
        let range = Key::Task { checkpoint, task: 0 }..=Key::Task { checkpoint, task: u32::MAX };
        let rows = self.scan(range).await?;
        let mut tasks = Tasks::new();
        for (key, bytes) in rows {
            if let Key::Task { task, .. } = key {
                tasks.insert(task, decode_record(&self.thread, "task", &bytes)?);
            }
        }
        Ok(tasks)
    }

    pub(crate) async fn task(&self, checkpoint: CheckpointId, task: u32) -> Result<Option<TaskRecord>, RunError> {
        let bytes = self.get_one(Key::Task { checkpoint, task }).await?;
        Ok(bytes.map(|bytes| decode_record(&self.thread, "task", &bytes)).transpose()?)
    }

    /// The entries of the journals of a checkpoint's tasks: task, key, record.
    pub(crate) async fn effects(&self, checkpoint: CheckpointId) -> Result<Vec<(u32, String, Vec<u8>)>, RunError> {
        self.effects_in(checkpoint, 0..=u32::MAX).await
    }

    /// Those of some of the tasks.
    pub(crate) async fn effects_in(
        &self,
        checkpoint: CheckpointId,
        tasks: RangeInclusive<u32>,
    ) -> Result<Vec<(u32, String, Vec<u8>)>, RunError> {
        let end = |task| Key::Effect { checkpoint, task, key: String::new() };
        let entry = |(key, bytes)| match key {
            Key::Effect { task, key, .. } if tasks.contains(&task) => Some((task, key, bytes)),
            _ => None,
        };
        let range = end(*tasks.start())..=end(tasks.end().saturating_add(1));
        Ok(self.scan(range).await?.into_iter().filter_map(entry).collect())
    }

    pub(crate) async fn rows(&self, keys: Vec<Key>) -> Result<Vec<Vec<u8>>, RunError> {
        if keys.is_empty() {
            return Ok(vec![]);
        }
        let found = self.get(keys.clone()).await?;
        let missing = |key: &Key| self.damaged_error(&format!("{key:?}"), "it is missing");
        found.into_iter().zip(&keys).map(|(row, key)| row.ok_or_else(|| missing(key))).collect()
    }

    pub(crate) fn missing_subgraph(&self) -> RunError {
        self.damaged_error("checkpoint of a subgraph", "it is missing")
    }

    pub(crate) fn damaged_error(&self, what: &str, reason: &str) -> RunError {
        let (thread, what, reason) = (self.thread.to_string(), what.to_owned(), reason.to_owned());
        crate::checkpoint::CheckpointError::Damaged { thread, what, reason }.into()
    }
}

/// The progress of a subgraph, in the order in which a reader prefers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ChildProgress {
    Asking,
    Unfinished,
    AtItsEnd,
}

impl Reader {
    /// Returns the active one of the subgraphs that tasks run: of a task that has not ended, one with a pending
    /// question before one that is not over; else the first. For a task whose error handler took over, among those that
    /// the handler called.
    pub(crate) async fn active_child(
        &self,
        tasks: &Tasks,
        called: Vec<ChildPointer>,
    ) -> Result<Option<ChildPointer>, RunError> {
        let mut ranked: Vec<(u32, ChildPointer)> =
            called.into_iter().filter_map(|at| Some((rank(tasks.get(&at.0), at.1)?, at))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let Some(least) = ranked.first().map(|(rank, _)| *rank) else { return Ok(None) };
        ranked.retain(|(rank, _)| *rank == least);
        if let [(_, only)] = ranked[..] {
            return Ok(Some(only));
        }
        let mut best: Option<(ChildProgress, ChildPointer)> = None;
        for (_, at) in ranked {
            let progress = self.progress(at.2).await?;
            if best.is_none_or(|(before, _)| progress < before) {
                best = Some((progress, at));
            }
            if progress == ChildProgress::Asking {
                break;
            }
        }
        Ok(best.map(|(_, at)| at))
    }

    async fn progress(&self, id: CheckpointId) -> Result<ChildProgress, RunError> {
        let asks = |task: &TaskRecord| {
            task.status == TaskStatus::Interrupted && task.questions.iter().any(|asked| !asked.answered)
        };
        if self.tasks(id).await?.values().any(asks) {
            return Ok(ChildProgress::Asking);
        }
        let Some(record) = self.record(id).await? else { return Ok(ChildProgress::AtItsEnd) };
        let over = record.control.is_over(&self.shape(&record).await?);
        Ok(if over { ChildProgress::AtItsEnd } else { ChildProgress::Unfinished })
    }

    /// The names behind the indexes of a checkpoint.
    pub(crate) async fn shape(&self, record: &CheckpointRecord) -> Result<Shape, RunError> {
        let bytes = self.get_one(Key::Shape(record.shape)).await?;
        let bytes = bytes.ok_or_else(|| self.damaged_error("shape", "it is missing"))?;
        Ok(decode_record(&self.thread, "shape", &bytes)?)
    }
}

/// None for what an earlier attempt called.
fn rank(task: Option<&TaskRecord>, call: u32) -> Option<u32> {
    let Some(task) = task else { return Some(0) };
    if call < task.first_call {
        return None;
    }
    let ended = u32::from(task.status == TaskStatus::Done);
    let left = u32::from(task.handled.is_some() != (call >= BY_HANDLER));
    Some(ended * 2 + left)
}
