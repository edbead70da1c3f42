//! The place of a graph in a run: the root, or a subgraph of a task. A subgraph over the task's state takes that state, writes to
//! it in place and returns it as it was; it does not store again what is stored already. Knows no run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::places::{Answers, Places};
use crate::checkpoint::{CheckpointId, RowId, Slot};
use crate::graph::records::{Journal, JournalPath};
use crate::graph::state::{AnySchema, AnyState, Channel};
use crate::graph::view::event::task_id;

/// The place of a graph in a run: the root, or a subgraph in a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphScope {
    /// The nodes on the way down.
    pub names: Arc<[String]>,
    /// The same for events, with their tasks; empty where no event is sent or stored.
    pub places: Arc<[String]>,
    /// For the store: tells activations apart.
    pub path: String,
    /// True for a subgraph that keeps its state for the thread.
    pub keeps_own: bool,
    /// True inside a subgraph whose state is not stored.
    pub unsaved: bool,
    pub questions: QuestionScope,
    /// The idle timeouts of the nodes on the way down.
    pub beats: Vec<Arc<Notify>>,
    pub journal: JournalScope,
}

/// The owner of the questions of a subgraph whose state is not kept; empty elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuestionScope {
    pub owner: Option<Arc<QuestionOwner>>,
    /// The path of the subgraph below that owner.
    pub asker: String,
}

/// The part of a journal that the tasks of a graph write to.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalScope {
    /// The journal of the root graph's task that this is in; none in the root graph, whose tasks have one each.
    pub journal: Option<Arc<Journal>>,
    /// The path of the graph in it.
    pub path: JournalPath,
    /// The version of the graph's control at which this activation started; paths count from there.
    pub base: u64,
}

/// The nearest task that is saved, for the questions of a subgraph that is not.
#[derive(Debug)]
pub(crate) struct QuestionOwner {
    pub answers: Answers,
    pub places: Mutex<Places>,
    pub checkpoint: CheckpointId,
    pub task: u32,
    /// Its id.
    pub id: String,
}

impl GraphScope {
    /// Names a task of this graph within its thread. A superstep that is not stored has no checkpoint to name it by: its
    /// number takes the place, below the nearest task that is stored.
    pub(crate) fn task_id(&self, checkpoint: CheckpointId, step: i64, task: u32) -> String {
        match &self.questions.owner {
            Some(lender) => format!("{}{}-{step}.{task:x}", lender.id, self.questions.asker.replace(['/', ':'], "-")),
            None if checkpoint.0 == 0 => format!("{step}-{task:x}"),
            None => task_id(checkpoint, task),
        }
    }

    /// The nodes whose subgraphs this is in are alive.
    pub(crate) fn beat(&self) {
        self.beats.iter().for_each(|beat| beat.notify_one());
    }

    /// Returns the same scope for an activation that started at this version of the graph's control.
    pub(crate) fn since_version(mut self, base: u64) -> Self {
        self.journal.base = base;
        self
    }

    pub(crate) fn root() -> Arc<Self> {
        Arc::new(Self::default())
    }
}

/// A state that a task may take for as long as it runs.
#[derive(Default)]
pub(crate) struct StateCell(Mutex<Option<AnyState>>);

impl StateCell {
    pub(crate) fn put(&self, state: AnyState) {
        *self.lock() = Some(state);
    }

    /// Takes the state in exchange for a copy of it, so that nobody else has one. Fails with the copy if that is of another
    /// state.
    pub(crate) fn exchange(&self, copy: AnyState) -> Result<AnyState, AnyState> {
        let mut moved = self.lock();
        match moved.take() {
            Some(state) if state.ptr_eq(&copy) => Ok(state),
            other => {
                *moved = other;
                Err(copy)
            }
        }
    }

    /// Takes the state; none if a subgraph has it.
    pub(crate) fn take(&self) -> Option<AnyState> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<AnyState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The locations of a state's values in the store.
pub(crate) struct StateLocations {
    /// Address of that state in memory. It stays the same until a subgraph that has taken the state changes it.
    pub state: usize,
    pub schema: AnySchema,
    /// Namespace of the graph whose logs the slots name, where they name no other.
    pub namespace: Arc<str>,
    pub slots: Vec<Slot>,
    /// The size of each value in bytes.
    pub sizes: Vec<u64>,
}

impl StateLocations {
    /// Returns true if this is the state.
    pub(crate) fn are_of(&self, state: &AnyState) -> bool {
        self.state == state.address()
    }

    /// Returns the location of a channel's value, for a graph inside this one: [`Slot::Absent`] if it is not stored as it
    /// is in memory, `None` if that graph stores the channel in another way.
    pub(crate) fn slot(&self, schema: &AnySchema, at: usize) -> Option<(Slot, u64)> {
        let (ours, theirs) = (self.schema.channels().get(at)?, schema.channels().get(at)?);
        let stored = |channel: &Channel| (channel.storage(), channel.value_codec(), channel.schema_version());
        let words = |channel: &Channel| [channel.name(), channel.type_name(), channel.rule_name()].map(str::to_owned);
        if stored(ours) != stored(theirs) || words(ours) != words(theirs) || ours.is_secret() != theirs.is_secret() {
            return None;
        }
        let mut slot = self.slots.get(at)?.clone();
        if let Slot::Log { ranges, .. } = &mut slot {
            for range in ranges {
                range.log.get_or_insert_with(|| Arc::clone(&self.namespace));
            }
        }
        Some((slot, *self.sizes.get(at)?))
    }

    /// Returns the rows that the values are in, apart from entries of logs.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowId> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Row(row) => Some(*row),
            Slot::Log { full, .. } => *full,
            Slot::Absent => None,
        })
    }
}
