//! Resuming a checkpoint that another version of the graph stored. The run first makes a checkpoint of its own, so that
//! the original stays as it is.

use std::sync::Arc;

use super::state::Run;
use crate::checkpoint::{Key, Source, encode_record};
use crate::graph::error::RunError;
use crate::graph::records::fork::{self, copy_children};
use crate::graph::records::{COMMAND_KEY, Mapping, Reader, Stamp, Tasks, UPDATE_KEY};

impl Run {
    /// Makes a checkpoint in this version of the graph, with copies of the tasks' records and subgraphs. Returns the
    /// records of the tasks, in present indexes.
    pub(crate) async fn migrate(
        &mut self,
        reader: &Reader,
        records: Tasks,
        mapping: &Mapping,
    ) -> Result<Tasks, RunError> {
        let (table, path, origin) = (self.table.clone(), self.scope.path.clone(), self.pos.meta.id);
        (self.step.planned, self.step.tasks) = (false, vec![]);
        self.plan();
        reader.restore(&table, &path, &mut self.step.tasks, records.clone(), mapping).await?;
        mapping.check(reader)?;
        let Some(recorder) = self.recorder().cloned() else { return Ok(records) };
        self.pos.channels.pending_rewrites.extend(mapping.take_rewrites());
        let parts = (!self.is_at_head()).then(|| records.clone());
        self.fork(Source::Fork, vec![]).await?;
        self.does_not_count();
        let (mut puts, mut moved) = (vec![], Tasks::new());
        let shared = Arc::clone(&self.shared);
        let stamp = Stamp { words: &shared.metadata, now: shared.now() };
        for (key, record) in records.into_iter().filter(|(key, _)| ![COMMAND_KEY, UPDATE_KEY].contains(key)) {
            let Ok(task) = mapping.task(key) else { continue };
            let record = mapping.translated(&table, &record);
            puts.push((Key::Task { checkpoint: self.pos.meta.id, task }, encode_record(&record)?));
            copy_children(reader, &recorder, stamp, (origin, key), (self.pos.meta.id, task), &mut puts).await?;
            moved.insert(task, record);
        }
        if path.is_empty() {
            let planned: Vec<u32> = self.step.tasks.iter().map(|task| task.key).collect();
            let fork = fork::ForkPoint { from: origin, to: self.pos.meta.id, mapping, parts: parts.as_ref() };
            puts.extend(fork::journals(reader, fork, planned).await?);
        }
        recorder.commit(puts, None).await?;
        (self.step.planned, self.step.tasks) = (false, vec![]);
        Ok(moved)
    }

    /// Returns true at the thread's newest checkpoint, in the root graph.
    pub(crate) fn is_at_head(&self) -> bool {
        self.recorder().is_some_and(|recorder| recorder.head().checkpoint == Some(self.pos.meta.id))
    }

    /// Returns the mapping of records that the run itself stores.
    pub(crate) fn own_mapping(&self) -> Mapping {
        Mapping::same(&self.table, self.pos.meta.id, self.pos.channels.unknown.clone())
    }
}
