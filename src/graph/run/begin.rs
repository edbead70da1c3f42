//! Starting a run: with new input, on a fork, or with a command (LangGraph: `_first`); or from a checkpoint that another
//! version of the graph stored: the run makes one of its own first, so that the original stays as it is.

use std::sync::Arc;

use super::state::Run;
use crate::checkpoint::{CheckpointId, Key, LogRange, RowId, Slot, Source, TaskRecord, TaskStatus, encode_record};
use crate::graph::error::RunError;
use crate::graph::node::AnyCommand;
use crate::graph::persist::save;
use crate::graph::records::fork::{self, copy_children};
use crate::graph::records::{COMMAND_KEY, Mapping, Puts, Reader, START_KEY, START_NODE, Stamp, Tasks, UPDATE_KEY};
use crate::graph::state::{AnyWrites, Mask, Merge, Storage};
use crate::graph::superstep::task::command_result;
use crate::graph::superstep::writes::{apply_run_error, apply_writes};
use crate::graph::superstep::{FinishedResult, Resolve, StartInput};

impl Run {
    /// Plans START with new input and drops unfinished tasks.
    pub(crate) fn begin_input(&mut self, writes: AnyWrites) -> Result<(), RunError> {
        let writes = self.input_writes(writes);
        let dropped = self.discard();
        self.pos.meta.step += 1;
        self.pos.meta.source = Source::Input;
        let mut puts = vec![];
        let mut start = Box::new(StartInput { writes, ..StartInput::default() });
        if let Some(recorder) = self.recorder().cloned() {
            self.enter(&recorder);
            if dropped {
                self.pos.channels.line = self.pos.meta.id;
                self.input.locations = None; // the state may have changed
            }
            self.adopt(&mut puts)?;
            let made_by = (self.pos.meta.id, START_KEY);
            start.stored = save::rows(&self.table, &self.scope.path, made_by, &start.writes, &mut puts)?;
            self.pos.start = Some(start);
            self.save_checkpoint(&recorder, &mut puts)?;
        } else {
            self.pos.start = Some(start);
        }
        self.outbox.input = puts;
        (self.step.planned, self.stops.breakpoints_active) = (false, true);
        Ok(())
    }

    /// Returns the writes to the graph's input channels.
    pub(crate) fn input_writes(&self, mut writes: AnyWrites) -> AnyWrites {
        if let Some(only) = &self.table.channels.input {
            writes.0.retain(|write| only.contains(write.channel()));
        }
        writes
    }

    /// Drops the planned tasks as if they had run without a result. Returns true if there were any.
    fn discard(&mut self) -> bool {
        self.step.planned = false;
        self.plan();
        let wiring = &self.table.wiring;
        let pulls: Vec<u32> = self.step.tasks.iter().filter(|task| task.is_edge()).map(|task| task.node).collect();
        let any = !self.step.tasks.is_empty();
        let mut applying = self.pos.control.begin(wiring, &pulls);
        if any {
            self.pos.control.clear(&mut applying);
            let (written, mut changed) = (Mask::default(), Mask::default());
            self.table.schema.end_step(&mut self.pos.state, &written, &mut changed);
            self.pos.empty_slots(&changed);
        }
        // The input itself triggers a task, so the graph is not idle.
        self.pos.control.end(wiring, &applying, false);
        self.step.tasks.clear();
        self.pos.start = None;
        any
    }

    /// Stores a state that was copied from the parent: where the parent has a value, its location.
    fn adopt(&mut self, puts: &mut Puts) -> Result<(), RunError> {
        if !std::mem::take(&mut self.input.adopted) {
            return Ok(());
        }
        let locations = self.input.locations.take();
        // With durability `exit`, rows that slots point at are stored even if the parent moves on from them.
        if let (Some(locations), Some(recorder)) = (&locations, self.recorder()) {
            locations.rows().for_each(|row| recorder.keep(&Key::Row(row)));
        }
        let channels = self.table.schema.channels();
        // Every channel gets its slot below, so nothing of the old ones is left to rewrite.
        self.pos.channels.pending_rewrites.clear();
        let mut gone = Mask::default();
        for (at, channel) in channels.iter().enumerate() {
            if channel.storage() == Storage::Never {
                continue;
            }
            if !self.table.schema.is_kept(&self.pos.state, at) {
                gone.insert(at); // a state of its own that it kept may have a value there
                continue;
            }
            // The entries that wait for a chunk belong to the value that is replaced.
            self.pos.channels.tails.remove(&at);
            let known = locations.as_ref().and_then(|locations| locations.slot(&self.table.schema, at));
            if let Some((slot, bytes)) = known.filter(|(slot, _)| *slot != Slot::Absent) {
                self.pos.channels.moved.insert(at);
                self.pos.weigh(at, bytes);
                self.pos.channels.slots[at] = slot;
                continue;
            }
            // Without a location the value is stored whole, in a row of this checkpoint.
            let row = adopted_row(self.pos.meta.id, at);
            let bytes = self.table.schema.encode_channel(&self.pos.state, at)?;
            self.pos.channels.moved.insert(at);
            self.pos.weigh(at, bytes.len() as u64);
            // For a log that value is the start, to which later writes are added.
            self.pos.channels.slots[at] = match channel.storage() {
                Storage::Log | Storage::Delta => {
                    let ranges: Vec<LogRange> = vec![];
                    Slot::Log { full: Some(row), full_bytes: bytes.len() as u64, ranges }
                }
                _ => Slot::Row(row),
            };
            puts.push((Key::Row(row), bytes.into()));
        }
        self.pos.empty_slots(&gone);
        Ok(())
    }

    /// Makes a checkpoint that starts a new branch.
    pub(crate) async fn fork(&mut self, source: Source, mut puts: Puts) -> Result<(), RunError> {
        let Some(recorder) = self.recorder().cloned() else { return Ok(()) };
        self.pos.meta.step += 1;
        self.pos.meta.source = source;
        let parent = self.pos.meta.id;
        self.enter(&recorder);
        self.pos.meta.parent = Some(parent);
        self.pos.channels.line = self.pos.meta.id;
        self.save_checkpoint(&recorder, &mut puts)?;
        let head = self.is_root().then_some(self.pos.meta.id);
        recorder.commit(puts, head).await?;
        Ok(())
    }

    /// Applies a command to the present position. It is no superstep, so pending tasks stay.
    ///
    /// `before`: the record of earlier commands at the same checkpoint. Returns the record of all of them.
    pub(crate) fn command(
        &mut self,
        command: AnyCommand,
        before: Option<TaskRecord>,
        puts: &mut Puts,
    ) -> Result<TaskRecord, RunError> {
        // Several commands may start from one checkpoint, so each has row ids of its own.
        let made_by = self.recorder().map_or(self.pos.meta.id, |recorder| recorder.next_id());
        let from: Arc<str> = "the command".into();
        let resolve = Resolve { table: &self.table, from: &from, made_by: (made_by, COMMAND_KEY) };
        let mut finished = FinishedResult::default();
        command_result(&resolve, command, START_NODE, &mut finished)?;
        self.apply_command(&finished)?;
        let mut record = before.unwrap_or_default();
        record.status = TaskStatus::Done;
        record.targets.extend(&finished.routing.targets);
        if self.recorder().is_some() {
            let made_by = (made_by, COMMAND_KEY);
            let stored = save::rows(&self.table, &self.scope.path, made_by, &finished.writes, puts)?;
            let table = Arc::clone(&self.table);
            self.pos.keep_rows(&table, &stored, &mut Mask::default());
            let changed = stored.rows.iter().map(|row| row.channel as usize).collect();
            self.pos.encode_reduced(&table, &changed, made_by.0, puts)?;
            record.writes.extend(stored.rows);
            record.sends.extend(save::sends(&table, &finished.routing.sends, puts)?);
        }
        Ok(record)
    }

    /// Applies the writes, triggers and sends of a command.
    fn apply_command(&mut self, finished: &FinishedResult) -> Result<(), RunError> {
        let table = Arc::clone(&self.table);
        let mut merge = Merge::default();
        let state = &mut self.pos.state;
        apply_writes(&table, state, finished.writes.0.iter().cloned(), &mut merge)
            .map_err(|error| apply_run_error(&table, self.pos.meta.step + 1, error, vec!["the command".into()]))?;
        let control = &mut self.pos.control;
        let mut applying = control.begin(&table.wiring, &[]);
        finished.routing.targets.iter().for_each(|&node| control.trigger(&table.wiring, &mut applying, node));
        control.note_goto(COMMAND_KEY, &finished.routing.targets, finished.routing.sends.len() as u32);
        control.sends.extend(finished.routing.sends.iter().cloned());
        control.end(&table.wiring, &applying, false);
        self.step.planned = false;
        Ok(())
    }

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
        self.allow_extra_step();
        let (mut puts, mut moved) = (vec![], Tasks::new());
        let shared = Arc::clone(&self.shared);
        let stamp = Stamp { words: &shared.metadata, now: shared.now() };
        for (key, record) in records.into_iter().filter(|(key, _)| ![COMMAND_KEY, UPDATE_KEY].contains(key)) {
            let Ok(task) = mapping.task(key) else { continue };
            let record = mapping.translate(&table, &record);
            puts.push((Key::Task { checkpoint: self.pos.meta.id, task }, encode_record(&record)?.into()));
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
        Mapping::identity(&self.table, self.pos.meta.id, self.pos.channels.unknown.clone())
    }
}

/// Returns the row of an adopted channel value, which is encoded whole at the child's first checkpoint.
fn adopted_row(checkpoint: CheckpointId, channel: usize) -> RowId {
    RowId { checkpoint, task: RowId::WHOLE, slot: channel as u32 }
}
