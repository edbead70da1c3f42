//! Reads a line of checkpoints superstep by superstep: tasks, results, and the recorded states before and after. Runs
//! no node and no router, and of reducers only those of channels kept as logs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use superstep_base::gather;

use crate::checkpoint::{CheckpointId, Slot, Source, TaskRecord, TaskStatus, WriteRecord};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::persist::{LoadedChannels, ReadPolicy};
use crate::graph::records::{COMMAND_KEY, ListedCheckpoint, Mapping, Reader, START_KEY, START_NODE, Tasks};
use crate::graph::state::Storage;
use crate::graph::superstep::task::planned_tasks;
use crate::graph::superstep::{FinishedResult, Position, Task};
use crate::graph::thread::snapshot::add_command;

/// A recorded superstep.
pub(crate) struct StepRecord {
    /// The checkpoint it starts from, as it was written.
    pub made: Position,
    /// The same with external commands applied; the superstep was planned here.
    pub before: Position,
    /// The result of the external commands.
    pub command: Option<FinishedResult>,
    /// Its tasks in canonical order, with recorded results, questions and failures.
    pub tasks: Vec<Task>,
    /// The task records by task key; a task that never started has none.
    pub records: Tasks,
    /// Maps the channel and task indexes of these records to the current graph.
    pub mapping: Mapping,
    /// Tasks whose questions were recorded with a different state: it was updated before they were answered.
    pub stale: BTreeSet<u32>,
    /// Tasks that ended before a command updated the state.
    pub ended_before: BTreeSet<u32>,
    /// Channels written by the input that are never saved.
    pub unsaved_input: Vec<usize>,
    /// The next checkpoint of the line, as it was written; `None` at the end of the line.
    pub after: Option<Position>,
}

impl StepRecord {
    /// True if the next checkpoint is the result of these tasks. It is not after a fork, an external update or new
    /// input, nor with durability `exit`, which leaves out checkpoints in between.
    pub(crate) fn is_applied(&self) -> bool {
        let next = self.after.as_ref();
        next.is_some_and(|next| next.meta.source == Source::Loop && next.meta.step == self.made.meta.step + 1)
            && self.is_recorded()
    }

    /// True if the results of all tasks are recorded. With durability `exit` a resumed superstep has only the results that
    /// the earlier run recorded.
    pub(crate) fn is_complete(&self) -> bool {
        let ended = |task: &Task| task.node == START_NODE || task.is_done();
        let all_ended = !self.mapping.is_same() || self.tasks.iter().all(ended); // another graph may plan other tasks
        self.is_applied() && all_ended && self.records.values().all(|record| record.status == TaskStatus::Done)
    }

    /// Returns the channels that a task wrote and whose values are not stored: never saved, or left out of an export.
    pub(crate) fn unsaved_writes(&self, task: &Task) -> Vec<usize> {
        match self.records.get(&task.key) {
            _ if task.node == START_NODE => self.unsaved_input.clone(),
            Some(record) => channels_without_row(&record.writes, &self.mapping),
            None => vec![],
        }
    }

    /// Returns true if the next checkpoint has the value of a channel in the row of a write of this superstep.
    pub(crate) fn is_written(&self, table: &Table, channel: usize) -> bool {
        let slot = self.after.as_ref().and_then(|after| after.channels.slots.get(channel));
        let Some(Slot::Row(row)) = slot.filter(|_| table.schema.channels()[channel].storage() == Storage::Value) else {
            return false;
        };
        let input = self.before.start.iter().flat_map(|start| &start.stored.rows);
        let mut writes = self.records.values().flat_map(|record| &record.writes).chain(input);
        writes.any(|write| write.row == Some(*row))
    }

    /// True if any result is recorded; START's result is the input.
    fn is_recorded(&self) -> bool {
        let starts = self.before.start.is_some();
        starts || self.records.values().any(|record| record.status == TaskStatus::Done)
    }
}

/// Reader of a line's supersteps, oldest first.
pub(crate) struct Walk {
    table: Arc<Table>,
    reader: Reader,
    line: VecDeque<ListedCheckpoint>,
    /// Set to read states; otherwise each state is the graph's empty one.
    states: bool,
    next: Option<LoadedCheckpoint>,
}

struct LoadedCheckpoint {
    made: Position,
    mapping: Mapping,
    path: String,
    unsaved_input: Vec<usize>,
}

impl Walk {
    pub(crate) fn new(table: Arc<Table>, reader: Reader, line: Vec<ListedCheckpoint>, states: bool) -> Self {
        Self { table, reader: reader.keeping_values(), line: line.into(), states, next: None }
    }

    pub(crate) fn first(&self) -> Option<&ListedCheckpoint> {
        self.line.front()
    }

    /// Returns the next superstep. The last one is that planned by the newest checkpoint, if any.
    pub(crate) async fn next(&mut self) -> Result<Option<StepRecord>, RunError> {
        let loaded = match self.next.take() {
            Some(loaded) => loaded,
            None => match self.line.pop_front() {
                Some(listed) => self.load(listed).await?,
                None => return Ok(None),
            },
        };
        let LoadedCheckpoint { made, mapping, path, unsaved_input } = loaded;
        let (table, reader) = (&self.table, &self.reader);
        let mut records = reader.tasks(made.meta.id).await?;
        // `made` is the checkpoint as written, `before` what the superstep saw: with the commands stored since.
        let mut before = made.clone();
        let command = match records.remove(&COMMAND_KEY) {
            Some(record) => Some(reader.load_result(table, &path, &record, &mapping).await?),
            None => None,
        };
        command.iter().for_each(|command| add_command(table, &mut before, command));
        let mut tasks = planned_tasks(table, &before);
        // The input was read with the checkpoint, so START's record need not be read again.
        let mut unread = records.clone();
        let input = take_input(&before, &mut unread, &mapping);
        reader.restore(table, &path, &mut tasks, unread, &mapping).await?;
        let starts = tasks.iter_mut().find(|task| task.node == START_NODE);
        if let (Some(start), Some(task), Some(record)) = (&before.start, starts, input) {
            reader.restore_start(table, start, (task, record), &mapping).await?;
        }
        // Present task keys from here on: the results are compared with the current graph.
        let records = mapping.by_present_key(records);
        // Questions and results from a checkpoint with another state are not compared.
        let stale = self.stale_tasks(&made, &records, &mapping).await?;
        let ended_before = self.ended_before(&made, &records, &mapping).await?;
        // The next checkpoint is loaded once: as the result of this superstep, and as the start of the next.
        if let Some(listed) = self.line.pop_front() {
            self.next = Some(self.load(listed).await?);
        }
        let after = self.next.as_ref().map(|next| next.made.clone());
        Ok(Some(StepRecord {
            made,
            before,
            command,
            tasks,
            records,
            mapping,
            stale,
            ended_before,
            unsaved_input,
            after,
        }))
    }

    /// Returns the tasks whose results were copied from a checkpoint with a different state: goes back from parent to
    /// parent as long as they have the same records.
    async fn ended_before(
        &self,
        made: &Position,
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<BTreeSet<u32>, RunError> {
        let (mut source, mut parent, mut found) = (made.meta.source, made.meta.parent, BTreeSet::new());
        let mut copied: Vec<(&u32, &TaskRecord)> =
            records.iter().filter(|(_, record)| may_be_copied(record, made)).collect();
        while let Some(before) = parent.filter(|_| is_copied(source)) {
            let tasks = self.reader.tasks(before).await?;
            copied.retain(|(key, record)| tasks.get(&mapping.stored_task(**key)) == Some(*record));
            if copied.is_empty() {
                break;
            }
            let keys = copied.iter().map(|(key, _)| **key);
            match self.has_state_of(made, before).await? {
                true => keys.for_each(|key| _ = found.remove(&key)),
                false => found.extend(keys),
            }
            let Some(record) = self.reader.record(before).await? else { break };
            (source, parent) = (record.source, record.parent);
        }
        Ok(found)
    }

    /// Returns the tasks whose questions were recorded at a checkpoint with a different state.
    async fn stale_tasks(
        &self,
        made: &Position,
        records: &Tasks,
        mapping: &Mapping,
    ) -> Result<BTreeSet<u32>, RunError> {
        let mut found = BTreeSet::new();
        for (&key, record) in records.iter().filter(|(_, record)| !record.answers.is_empty()) {
            let stored = mapping.stored_task(key);
            let own = record.questions.iter().filter(|asked| asked.task == stored && asked.asker.is_some());
            let asked_at: BTreeSet<CheckpointId> = gather(own.map(|asked| asked.payload.checkpoint));
            for at in asked_at.into_iter().filter(|at| *at != made.meta.id) {
                if !self.has_state_of(made, at).await? {
                    found.insert(key);
                }
            }
        }
        Ok(found)
    }

    async fn has_state_of(&self, made: &Position, at: CheckpointId) -> Result<bool, RunError> {
        let Some(record) = self.reader.record(at).await? else { return Ok(false) };
        let mapping = self.reader.mapping(&self.table, at, &record).await?;
        Ok(self.reader.slots(&record, &mapping).await?.0 == made.channels.slots)
    }

    /// Reads a checkpoint; of its state only the channels that changed since the last one.
    async fn load(&self, (id, record): ListedCheckpoint) -> Result<LoadedCheckpoint, RunError> {
        let (table, reader) = (&self.table, &self.reader);
        let mapping = reader.mapping(table, id, &record).await?;
        let (slots, carried) = reader.slots(&record, &mapping).await?;
        let path = record.namespace.clone();
        let settled = if self.states {
            reader.shared(table, &path, slots, &mapping, ReadPolicy::Whole).await?
        } else {
            LoadedChannels::of(slots, table.schema.empty())
        };
        let unsaved_input = record.control.start.as_ref().map_or(vec![], |start| channels_without_row(start, &mapping));
        let made = reader.position_over(table, id, record, &mapping, carried, settled).await?;
        Ok(LoadedCheckpoint { made, mapping, path, unsaved_input })
    }
}

/// Takes the record of START, if its writes are the input as it was read with the checkpoint.
fn take_input(before: &Position, records: &mut Tasks, mapping: &Mapping) -> Option<TaskRecord> {
    let (start, key) = (before.start.as_ref()?, mapping.stored_task(START_KEY));
    let record = records.get(&key).filter(|_| mapping.is_same())?;
    let is_input = record.status == TaskStatus::Done && record.writes == start.stored.rows;
    if is_input { records.remove(&key) } else { None }
}

/// Returns true if a checkpoint may have the results of the one before it.
fn is_copied(source: Source) -> bool {
    matches!(source, Source::Update | Source::Fork)
}

/// Returns true if the result of a task may be copied from an earlier checkpoint. One with stored values is if they have
/// the number of that checkpoint; one without is copied only by a command that updates the state.
fn may_be_copied(record: &TaskRecord, made: &Position) -> bool {
    let is_earlier = match record.writes.iter().find_map(|write| write.row) {
        Some(row) => row.checkpoint != made.meta.id,
        None => made.meta.source == Source::Update,
    };
    record.status == TaskStatus::Done && is_earlier
}

/// Returns the channels of writes without a row: never saved, or left out of an export.
pub(crate) fn channels_without_row(writes: &[WriteRecord], mapping: &Mapping) -> Vec<usize> {
    let unsaved = writes.iter().filter(|write| write.row.is_none());
    unsaved.filter_map(|write| mapping.channel(write.channel)).map(|channel| channel as usize).collect()
}
