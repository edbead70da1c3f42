//! Reading a thread: snapshots of checkpoints and of the present. An unfinished or failed run never makes reading fail
//! (V3).

use std::sync::Arc;

use super::migrate::{LostTask, inside, nested};
use super::task_snapshot::task_snapshot;
use super::task_values::result;
use crate::checkpoint::{CheckpointId, CheckpointRecord, Slot, TaskRecord, TaskStatus};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::records::{COMMAND_KEY, Mapping, Reader, Tasks};
use crate::graph::state::{AnyState, Mask, State};
use crate::graph::superstep::position::merged;
use crate::graph::superstep::task::planned;
use crate::graph::superstep::{Control, Finished, Packet, Position};
use crate::graph::view::untyped::typed_json;
use crate::graph::view::{Nested, NestedRead, Seen, Snapshot, View};

impl<S: State> Snapshot<Arc<S>> {
    /// Returns the state as JSON, without secret channels. The schema is the graph's.
    pub fn json(&self, schema: &S::Schema) -> serde_json::Value {
        typed_json(&*self.values, schema)
    }
}

impl Snapshot<AnyState> {
    /// Returns the snapshot with the type of the state.
    pub(crate) fn typed<S: State>(self) -> Snapshot<Arc<S>> {
        self.map(|state| state.into_typed())
    }

    /// Reads a checkpoint.
    pub(crate) async fn read(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
        seen: Seen,
        deep: bool,
    ) -> Result<Self, RunError> {
        let (record, records) = stored(reader, id).await?;
        Self::of(table, reader, id, record, records, seen, deep).await
    }

    /// Reads the present of a subgraph with those below it, and why it could not resume.
    pub(crate) async fn read_nested(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
    ) -> Result<NestedRead, RunError> {
        let (record, records) = stored(reader, id).await?;
        let is_commanded = records.contains_key(&COMMAND_KEY);
        let snapshot = Self::of(table, reader, id, record, records, Seen::Live, true).await?;
        // Only a command changes what runs next, and so what could not resume.
        let misfits = if is_commanded {
            Self::read(table, reader, id, Seen::Now, false).await?.misfits
        } else {
            snapshot.misfits.clone()
        };
        Ok((snapshot.erased(table), misfits))
    }

    pub(crate) async fn of(
        table: &Arc<Table>,
        reader: &Reader,
        id: CheckpointId,
        record: CheckpointRecord,
        mut records: Tasks,
        seen: Seen,
        deep: bool,
    ) -> Result<Self, RunError> {
        let live = seen != Seen::Past;
        let path = record.namespace.clone();
        let (mut pos, mapping) = reader.shown_position(table, id, record).await?;
        let was = (seen != Seen::Now).then(|| planned(table, &pos));
        reader.commanded(table, &mut pos, &path, &mut records, &mapping).await?;
        let mut tasks = was.unwrap_or_else(|| planned(table, &pos));
        let lost = LostTask::of(&mapping, &records);
        reader.restore(table, &path, &mut tasks, records, &mapping).await?;
        reader.restore_effects(id, &path, &mut tasks, &mapping).await?;
        let done: Vec<&Finished> = tasks.iter().filter_map(result).collect();
        let values = if live && !done.is_empty() { with_results(table, &pos.state, &done) } else { pos.state.clone() };
        let next = tasks.iter().filter(|task| !live || !task.is_done());
        let next = next
            .map(|task| table.node_name(task.node).to_string())
            .chain(lost.iter().map(|lost| lost.node.clone()))
            .collect();
        let (mut shown, mut misfits) = (vec![], mapping.misfits());
        for task in &tasks {
            let found = if deep { nested(table, reader, (&pos, &mapping), task).await? } else { None };
            let (state, inside) = found.map_or((None, vec![]), |(state, inside)| (Some(state), inside));
            misfits.extend(inside.into_iter().filter(|_| live));
            shown.push(task_snapshot(table, reader, (&pos, &mapping), task, live, (state, path.is_empty())));
        }
        for lost in lost {
            shown.push(lost.shown(table, reader, &pos, path.is_empty()).await?);
        }
        if live && !deep {
            misfits.extend(inside(table, reader, (&pos, &mapping), &tasks).await?);
        }
        let carried = pos.channels.unknown.iter().filter(|carried| carried.slot != Slot::Absent);
        let carried = carried.map(|carried| carried.channel.name.clone()).collect();
        Ok(Self {
            values,
            id,
            parent: pos.meta.parent,
            source: pos.meta.source,
            step: pos.meta.step,
            created_at: pos.meta.created_at,
            next,
            tasks: shown,
            metadata: pos.meta.metadata,
            carried,
            misfits,
        })
    }

    fn erased(self, table: &Arc<Table>) -> Nested {
        self.map(|state| View::of_state(state, table.schema.clone()))
    }
}

/// Returns the record of a checkpoint and those of its tasks.
async fn stored(reader: &Reader, checkpoint: CheckpointId) -> Result<(CheckpointRecord, Tasks), RunError> {
    let unknown = || RunError::UnknownCheckpoint { thread: reader.thread.clone(), checkpoint };
    let record = reader.record(checkpoint).await?.ok_or_else(unknown)?;
    Ok((record, reader.tasks(checkpoint).await?))
}

impl Reader {
    /// Applies the commands that were stored at a checkpoint since it was made.
    pub(crate) async fn commanded(
        &self,
        table: &Table,
        pos: &mut Position,
        path: &str,
        records: &mut Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        if let Some(command) = records.remove(&COMMAND_KEY) {
            let command: Finished = self.finished(table, path, &command, mapping).await?;
            add_command(table, pos, &command);
        }
        Ok(())
    }
}

/// Schedules what a command scheduled that is stored beside the position's checkpoint. It has no writes: a command with some
/// makes a checkpoint.
pub(crate) fn add_command(table: &Table, pos: &mut Position, command: &Finished) {
    let control: &mut Control<Packet> = &mut pos.control;
    let mut applying = control.begin(&table.wiring, &[]);
    command.routing.targets.iter().for_each(|&node| control.trigger(&table.wiring, &mut applying, node));
    control.note_goto(COMMAND_KEY, &command.routing.targets, command.routing.sends.len() as u32);
    control.sends.extend(command.routing.sends.iter().cloned());
    control.end(&table.wiring, &applying, false);
}

/// Returns the state with results that no checkpoint holds yet, as a reader sees it: without values that live for one
/// superstep, with those that become visible at the end of the run. The state itself if they cannot be applied (V3).
pub(crate) fn with_results(table: &Table, state: &AnyState, done: &[&Finished]) -> AnyState {
    let Some((mut merged, _)) = merged(table, state, done) else { return state.clone() };
    let mut changed = Mask::default();
    table.schema.end_step(&mut merged, &Mask::default(), &mut changed);
    table.schema.finish(&mut merged, &mut changed);
    merged
}

pub(crate) fn is_failed(record: &TaskRecord) -> bool {
    record.status == TaskStatus::Failed
}
