//! Records of a checkpoint's tasks: dropped when the tasks run again, copied when a fork continues with them.

use std::sync::Arc;

use super::handle::ThreadCore;
use crate::checkpoint::{CheckpointId, Key, TaskRecord, WriteRecord, encode_record};
use crate::graph::error::RunError;
use crate::graph::persist::save;
use crate::graph::records::fork::{self, copy_children};
use crate::graph::records::{COMMAND_KEY, Journal, Mapping, Puts, Reader, Stamp, Tasks};
use crate::graph::run::Run;
use crate::graph::superstep::task::planned;

impl ThreadCore {
    /// Returns the metadata and time of copies made for a fork.
    pub(crate) fn stamp(&self) -> Stamp<'_> {
        Stamp { words: &self.settings.metadata, now: self.environment.host.now() }
    }

    /// Removes the writes, subgraph pointers and results of tasks that run again at their own checkpoint.
    pub(crate) async fn forget(
        &self,
        run: &Run,
        reader: &Reader,
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<(), RunError> {
        let Some(recorder) = run.recorder() else { return Ok(()) };
        let pointer = |(task, call, _)| Key::Child { checkpoint: run.pos.meta.id, task, call };
        let mut gone: Vec<Key> = reader.children(run.pos.meta.id).await?.into_iter().map(pointer).collect();
        let mut puts = vec![];
        for (&task, record) in records.iter().filter(|(task, _)| **task != COMMAND_KEY) {
            let key = |write: &WriteRecord| {
                let row = write.row.filter(|row| row.checkpoint == run.pos.meta.id)?; // others are the origin's of a copy
                let channel = mapping.channel(write.channel)? as usize;
                Some(save::row_key(&run.table, "", channel, write.overwrite, row))
            };
            gone.extend(record.writes.iter().filter_map(key));
            let fresh = TaskRecord { attempts: record.attempts, ..TaskRecord::default() };
            puts.push((run.task_key(task), encode_record(&fresh)?));
        }
        if puts.is_empty() {
            return Ok(());
        }
        Ok(recorder.replace_now(puts, gone).await?)
    }

    /// Copies the records of a checkpoint's tasks, and their subgraphs, for a fork of it. `parts`: the fork starts a
    /// branch beside the current one.
    pub(crate) async fn copied(
        &self,
        run: &Run,
        reader: &Reader,
        (from, parts): (CheckpointId, bool),
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<Puts, RunError> {
        let mut puts = vec![];
        let Some(recorder) = run.recorder() else { return Ok(puts) };
        for (&key, record) in records.iter().filter(|(key, _)| **key != COMMAND_KEY) {
            puts.push((run.task_key(key), encode_record(record)?));
            let to = (run.pos.meta.id, key);
            copy_children(reader, recorder, self.stamp(), (from, key), to, &mut puts).await?;
        }
        let planned = planned(&run.table, &run.pos).into_iter().map(|task| task.key);
        let fork = fork::ForkPoint { from, to: run.pos.meta.id, mapping, parts: parts.then_some(records) };
        puts.extend(fork::journals(reader, fork, planned).await?);
        Ok(puts)
    }
}

/// Attaches stored journals to the planned tasks. `again`: the tasks may have run here before, even without a record.
pub(crate) async fn attach_journals(
    run: &mut Run,
    reader: &Reader,
    mapping: &Mapping,
    again: bool,
) -> Result<(), RunError> {
    let mut journals = reader.journals(run.pos.meta.id, mapping).await?;
    for task in &mut run.step.tasks {
        let empty = || again.then(|| Arc::new(Journal::stored(run.pos.meta.id, task.key, vec![])));
        task.journal = journals.remove(&task.key).or_else(empty);
    }
    Ok(())
}
