//! Copies for a fork of a checkpoint: the subgraphs that its tasks called, and the journals of its tasks, which go on with the
//! same work. Knows records only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_base::gather;

use super::journal::{Journal, ORIGIN, name};
use super::mapping::Mapping;
use super::reader::{Reader, Tasks};
use super::recorder::{Puts, Recorder};
use crate::checkpoint::{
    BoxFuture, CheckpointId, CheckpointRecord, EffectKind, EffectRecord, Key, Row, Source, TaskStatus, decode_record,
};
use crate::graph::error::RunError;

/// The pointer of an enclosing task, as a record.
pub(crate) fn pointer(caller: Caller, to: CheckpointId) -> (Key, Row) {
    (Key::Child { checkpoint: caller.checkpoint, task: caller.task, call: caller.call }, Row::record(to))
}

/// The task of the enclosing graph that a subgraph runs in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub checkpoint: CheckpointId,
    pub task: u32,
    pub call: u32,
}

/// The metadata and time of every checkpoint that a handle makes.
#[derive(Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub words: &'a [(String, String)],
    /// In milliseconds since 1970.
    pub now: u64,
}

/// Copies the subgraphs of a task for a fork of its checkpoint: two forks do not share a child (V10).
pub(crate) fn copy_children<'a>(
    reader: &'a Reader,
    recorder: &'a Recorder,
    stamp: Stamp<'a>,
    from: (CheckpointId, u32),
    to: (CheckpointId, u32),
    puts: &'a mut Puts,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(async move {
        for (_, call, child) in reader.children_of(from.0, from.1).await? {
            let by = Caller { checkpoint: to.0, task: to.1, call };
            copy_child(reader, recorder, stamp, child, by, puts).await?;
        }
        Ok(())
    })
}

/// Copies one subgraph.
pub(crate) async fn copy_child(
    reader: &Reader,
    recorder: &Recorder,
    stamp: Stamp<'_>,
    child: CheckpointId,
    by: Caller,
    puts: &mut Puts,
) -> Result<(), RunError> {
    let record = reader.known_record(child).await?;
    let copy = fork_checkpoint(recorder, stamp, child, record, false, puts)?;
    puts.push(pointer(by, copy));
    for (task, record) in reader.tasks(child).await? {
        puts.push((Key::Task { checkpoint: copy, task }, Row::record(record)));
        copy_children(reader, recorder, stamp, (child, task), (copy, task), puts).await?;
    }
    Ok(())
}

/// Copies a checkpoint as the first of a new line.
pub(crate) fn fork_checkpoint(
    recorder: &Recorder,
    stamp: Stamp<'_>,
    from: CheckpointId,
    mut record: CheckpointRecord,
    root: bool,
    puts: &mut Puts,
) -> Result<CheckpointId, RunError> {
    let id = recorder.next_id();
    (record.parent, record.source, record.step) = (Some(from), Source::Fork, record.step + 1);
    (record.line, record.epoch, record.created_at) = (id, recorder.lease().epoch(), stamp.now);
    record.metadata = stamp.words.to_vec();
    let key = if root { Key::Checkpoint(id) } else { Key::Nested(id) };
    puts.push((key, Row::record(record)));
    Ok(id)
}

/// From which checkpoint to which fork of it.
pub(crate) struct ForkPoint<'a> {
    pub from: CheckpointId,
    pub to: CheckpointId,
    pub mapping: &'a Mapping,
    /// The tasks' records, if the fork starts a branch beside the one that was followed: several may, and each has
    /// effects of its own.
    pub parts: Option<&'a Tasks>,
}

impl ForkPoint<'_> {
    /// The tasks that came to rest before the branches part: what they do from here on is the branch's. One that failed, or
    /// that has no record, may have started effects that it will start again: it keeps its name.
    fn parted_tasks(&self) -> BTreeSet<u32> {
        let tasks = self.parts.into_iter().flatten();
        let rests = tasks.filter(|(_, task)| matches!(task.status, TaskStatus::Interrupted | TaskStatus::Waiting));
        gather(rests.filter_map(|(key, _)| self.mapping.task(*key).ok()))
    }
}

/// Returns the journals of the tasks, those of `planned` among them. The world outside knows them under the names they had.
pub(crate) async fn journals(
    reader: &Reader,
    fork: ForkPoint<'_>,
    planned: impl IntoIterator<Item = u32>,
) -> Result<Puts, RunError> {
    let (parted, ForkPoint { from, to, mapping, .. }) = (fork.parted_tasks(), fork);
    let (mut puts, mut unnamed) = (vec![], gather::<BTreeSet<u32>, _>(planned));
    for (task, key, bytes) in reader.effects(from).await? {
        let task = mapping.task(task).map_err(|reason| reader.migration_error(reason))?;
        if key == ORIGIN {
            if parted.contains(&task) {
                continue;
            }
            unnamed.remove(&task);
        }
        puts.push((Key::Effect { checkpoint: to, task, key }, bytes.into()));
    }
    for task in unnamed {
        let origin = match parted.contains(&task) {
            true => name(to, task),
            false => name(from, mapping.stored_task(task)),
        };
        let key = Key::Effect { checkpoint: to, task, key: ORIGIN.to_owned() };
        puts.push((key, Row::record(origin_record(origin))));
    }
    Ok(puts)
}

fn origin_record(idempotency: String) -> EffectRecord {
    let (shown, value) = (String::new(), vec![]);
    EffectRecord { kind: EffectKind::Value, order: 0, arguments: 0, shown, idempotency, value, at: 0, runs: vec![] }
}

impl Reader {
    /// Returns the journals of the tasks of a checkpoint, by their keys.
    pub(crate) async fn journals(
        &self,
        checkpoint: CheckpointId,
        mapping: &Mapping,
    ) -> Result<BTreeMap<u32, Arc<Journal>>, RunError> {
        let journal = |(task, records)| (task, Arc::new(Journal::from_records(checkpoint, task, records)));
        Ok(gather(self.entries_of(checkpoint, mapping).await?.into_iter().map(journal)))
    }

    /// Returns the journal of one task of a checkpoint; none if it has no entries.
    pub(crate) async fn journal(
        &self,
        checkpoint: CheckpointId,
        task: u32,
        mapping: &Mapping,
    ) -> Result<Option<Arc<Journal>>, RunError> {
        let rows = self.effects_in(checkpoint, task..=task).await?;
        let mut journals = self.decode_entries(rows, mapping)?.into_iter();
        Ok(journals.next().map(|(task, records)| Arc::new(Journal::from_records(checkpoint, task, records))))
    }

    /// The same as records.
    pub(crate) async fn entries_of(
        &self,
        checkpoint: CheckpointId,
        mapping: &Mapping,
    ) -> Result<BTreeMap<u32, Vec<(String, EffectRecord)>>, RunError> {
        self.decode_entries(self.effects(checkpoint).await?, mapping)
    }

    fn decode_entries(
        &self,
        rows: Vec<(u32, String, Vec<u8>)>,
        mapping: &Mapping,
    ) -> Result<BTreeMap<u32, Vec<(String, EffectRecord)>>, RunError> {
        let mut entries = BTreeMap::<u32, Vec<(String, EffectRecord)>>::new();
        for (task, key, bytes) in rows {
            let record = decode_record(&self.thread, format!("effect `{key}`"), &bytes)?;
            let task = mapping.task(task).map_err(|reason| self.migration_error(reason))?;
            entries.entry(task).or_default().push((key, record));
        }
        Ok(entries)
    }
}
