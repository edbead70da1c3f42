//! Walking a line of checkpoints: superstep by superstep, what was planned, what came of it, and the state before and after
//! as they were recorded. Runs nothing: no node, no router, and of reducers only those of channels kept as logs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::checkpoint::{CheckpointId, Key, LogRange, RowId, Slot, Source, TaskStatus, WriteRecord};
use crate::graph::build::Table;
use crate::graph::diff::outline::growth;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::persist::{Reading, Settled, settled::channel};
use crate::graph::records::{COMMAND_KEY, Listed, Mapping, Reader, START_NODE, Tasks};
use crate::graph::state::{Mask, State, reading};
use crate::graph::superstep::{Finished, Position, Task, task::planned};
use crate::graph::thread::snapshot::add_command;

/// A superstep as it was recorded.
pub(crate) struct Recorded<S: State> {
    /// The checkpoint it starts from, as it was made.
    pub made: Position<S>,
    /// The same, brought to where commands from outside led it; the superstep was planned here.
    pub before: Position<S>,
    /// What the commands from outside did there.
    pub command: Option<Finished<S>>,
    /// Its tasks in canonical order, with what their records say: results, questions, failures.
    pub tasks: Vec<Task<S>>,
    /// The records themselves, by the keys of the tasks; a task that never started has none.
    pub records: Tasks,
    /// What the indexes of these records mean.
    pub mapping: Mapping,
    /// The tasks whose questions were asked over another state than this one: it was updated before they were answered.
    pub moved: BTreeSet<u32>,
    /// The channels that the input wrote and that are never saved.
    pub unsaved_input: Vec<usize>,
    /// The next checkpoint of the line, as it was made; none at the end of the line.
    pub after: Option<Position<S>>,
}

impl<S: State> Recorded<S> {
    /// Whether the next checkpoint is what these tasks came to. It is not after a fork, an update from outside or new input,
    /// nor with durability `exit`, which leaves out what lies between.
    pub(crate) fn is_whole(&self) -> bool {
        let next = self.after.as_ref();
        next.is_some_and(|next| next.meta.source == Source::Loop && next.meta.step == self.made.meta.step + 1)
            && self.is_recorded()
    }

    /// Whether that is kept of all tasks. With durability `exit` a run that ends what another began keeps only what the other
    /// left.
    pub(crate) fn is_complete(&self) -> bool {
        let ended = |task: &Task<S>| task.node == START_NODE || task.is_done();
        let all_ended = !self.mapping.is_same() || self.tasks.iter().all(ended); // another graph may plan other tasks
        self.is_whole() && all_ended && self.records.values().all(|record| record.status == TaskStatus::Done)
    }

    /// The channels that a task wrote and whose values are not kept: they are never saved, or an export left them out.
    pub(crate) fn unsaved_writes(&self, task: &Task<S>) -> Vec<usize> {
        match self.records.get(&task.key) {
            _ if task.node == START_NODE => self.unsaved_input.clone(),
            Some(record) => unsaved(&record.writes, &self.mapping),
            None => vec![],
        }
    }

    /// Whether anything is kept of what the tasks came to; START's result is the input.
    fn is_recorded(&self) -> bool {
        let starts = self.before.start.is_some();
        starts || self.records.values().any(|record| record.status == TaskStatus::Done)
    }
}

/// The supersteps of a line, oldest first.
pub(crate) struct Walk<S: State, N, C> {
    table: Arc<Table<S, N, C>>,
    reader: Reader,
    line: VecDeque<Listed>,
    /// Whether states are read; without, each is the graph's empty one.
    states: bool,
    next: Option<Loaded<S>>,
}

/// A checkpoint that was read, and what its indexes mean.
struct Loaded<S: State> {
    made: Position<S>,
    mapping: Mapping,
    path: String,
    unsaved_input: Vec<usize>,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Walk<S, N, C> {
    pub(crate) fn new(table: Arc<Table<S, N, C>>, reader: Reader, line: Vec<Listed>, states: bool) -> Self {
        Self { table, reader, line: line.into(), states, next: None }
    }

    /// The first checkpoint of the line.
    pub(crate) fn first(&self) -> Option<&Listed> {
        self.line.front()
    }

    /// The next superstep; the last one is that which the newest checkpoint plans, if it plans any.
    pub(crate) async fn next(&mut self) -> Result<Option<Recorded<S>>, RunError> {
        let loaded = match self.next.take() {
            Some(loaded) => loaded,
            None => match self.line.pop_front() {
                Some(listed) => self.load(listed, None).await?,
                None => return Ok(None),
            },
        };
        let Loaded { made, mapping, path, unsaved_input } = loaded;
        let (table, reader) = (&self.table, &self.reader);
        let mut records = reader.tasks(made.meta.id).await?;
        let mut before = made.clone();
        let command = match records.remove(&COMMAND_KEY) {
            Some(record) => Some(reader.finished(table, &path, &record, &mapping).await?),
            None => None,
        };
        command.iter().for_each(|command| add_command(table, &mut before, command));
        let mut tasks = planned(table, &before);
        reader.restore(table, &path, &mut tasks, records.clone(), &mapping).await?;
        let records = mapping.by_present_key(records);
        let moved = self.moved(&made, &records, &mapping).await?;
        if let Some(listed) = self.line.pop_front() {
            self.next = Some(self.load(listed, Some((&made, &path)).filter(|_| mapping.is_same())).await?);
        }
        let after = self.next.as_ref().map(|next| next.made.clone());
        Ok(Some(Recorded { made, before, command, tasks, records, mapping, moved, unsaved_input, after }))
    }

    /// The tasks whose questions were asked at a checkpoint with another state.
    async fn moved(&self, made: &Position<S>, records: &Tasks, mapping: &Mapping) -> Result<BTreeSet<u32>, RunError> {
        let mut moved = BTreeSet::new();
        for (&key, record) in records.iter().filter(|(_, record)| !record.answers.is_empty()) {
            let stored = mapping.stored_task(key);
            let own = record.questions.iter().filter(|asked| asked.task == stored && asked.asker.is_some());
            let asked_at: BTreeSet<CheckpointId> = own.map(|asked| asked.payload.checkpoint).collect();
            for at in asked_at.into_iter().filter(|at| *at != made.meta.id) {
                if !self.has_state_of(made, at).await? {
                    moved.insert(key);
                }
            }
        }
        Ok(moved)
    }

    /// Whether a checkpoint has the same state as this one.
    async fn has_state_of(&self, made: &Position<S>, at: CheckpointId) -> Result<bool, RunError> {
        let Some(record) = self.reader.record(at).await? else { return Ok(false) };
        let mapping = self.reader.mapping(&self.table, at, &record).await?;
        Ok(self.reader.slots(&record, &mapping).await?.0 == made.channels.slots)
    }

    /// Reads a checkpoint; of its state, what is not in that of the checkpoint before.
    async fn load(&self, (id, record): Listed, last: Option<(&Position<S>, &String)>) -> Result<Loaded<S>, RunError> {
        let (table, reader) = (&self.table, &self.reader);
        let mapping = reader.mapping(table, id, &record).await?;
        let (slots, carried) = reader.slots(&record, &mapping).await?;
        let path = record.namespace.clone();
        let settled = match last.filter(|(_, before)| mapping.is_same() && **before == path) {
            _ if !self.states => Settled::of(slots, Arc::new(S::empty(&table.schema))),
            Some((before, _)) => Settled::of(slots.clone(), self.moved_on(before, &path, &mapping, slots).await?),
            None => reader.settled(table, &path, slots, &mapping, Reading::Whole).await?.shared(),
        };
        let unsaved_input = record.control.start.as_ref().map_or(vec![], |start| unsaved(start, &mapping));
        let made = reader.position_over(table, id, record, &mapping, carried, settled).await?;
        Ok(Loaded { made, mapping, path, unsaved_input })
    }

    /// The state that the slots describe, made from the one before.
    async fn moved_on(
        &self,
        before: &Position<S>,
        path: &str,
        mapping: &Mapping,
        slots: Vec<Slot>,
    ) -> Result<Arc<S>, RunError> {
        let (table, reader) = (&self.table, &self.reader);
        let changed: Vec<usize> = (0..slots.len()).filter(|&at| before.channels.slots[at] != slots[at]).collect();
        if changed.is_empty() {
            return Ok(Arc::clone(&before.state));
        }
        let steps: Option<Vec<Step>> =
            changed.iter().map(|&at| Step::between(&before.channels.slots[at], &slots[at])).collect();
        let mut state = S::clone(&before.state);
        let Some(steps) = steps.filter(|_| emptied(table, &mut state, &slots, &changed)) else {
            return Ok(Arc::new(reader.settled(table, path, slots, mapping, Reading::Whole).await?.state));
        };
        let rows = reader.rows(steps.iter().filter_map(|step| step.value.map(Key::Row)).collect()).await?;
        let valued = changed.iter().zip(&steps).filter(|(_, step)| step.value.is_some());
        for ((&at, _), bytes) in valued.zip(&rows) {
            let read = reading::decode_channel::<S>(&table.schema, &mut state, at, bytes);
            read.map_err(|misread| reader.unreadable(&channel(table, at), mapping.at, misread))?;
        }
        for (&at, step) in changed.iter().zip(&steps) {
            for range in &step.entries {
                reader.added(table, path, (mapping.at, at), range, &mut state).await?;
            }
        }
        Ok(Arc::new(state))
    }
}

/// The channels of writes that have no row: they are never saved, or an export left them out.
pub(crate) fn unsaved(writes: &[WriteRecord], mapping: &Mapping) -> Vec<usize> {
    let unsaved = writes.iter().filter(|write| write.row.is_none());
    unsaved.filter_map(|write| mapping.channel(write.channel)).map(|channel| channel as usize).collect()
}

/// What leads from a channel's value to its next: a value that replaces it, and entries that are added.
#[derive(Default)]
struct Step {
    value: Option<RowId>,
    entries: Vec<LogRange>,
}

impl Step {
    /// None if only reading the whole value does.
    fn between(before: &Slot, now: &Slot) -> Option<Self> {
        match (growth(before, now), now) {
            (Some(entries), _) => Some(Self { value: None, entries }),
            (None, Slot::Absent) => Some(Self::default()),
            (None, Slot::Row(row)) => Some(Self { value: Some(*row), entries: vec![] }),
            (None, Slot::Log { full: Some(row), ranges, .. }) => {
                Some(Self { value: Some(*row), entries: ranges.clone() })
            }
            (None, Slot::Log { full: None, ranges, .. }) => {
                (*before == Slot::Absent).then(|| Self { value: None, entries: ranges.clone() })
            }
        }
    }
}

/// Empties the channels that live for one superstep and have no value any more. Returns whether that was all that had to go.
fn emptied<S: State, N, C>(table: &Table<S, N, C>, state: &mut S, slots: &[Slot], changed: &[usize]) -> bool {
    let gone: Vec<usize> = changed.iter().copied().filter(|&at| slots[at] == Slot::Absent).collect();
    if gone.is_empty() {
        return true;
    }
    let (kept, mut went): (Mask, Mask) = ((0..slots.len()).filter(|at| !gone.contains(at)).collect(), Mask::default());
    state.end_step(&table.schema, &kept, &mut went);
    gone.iter().all(|&at| went.contains(at))
}
