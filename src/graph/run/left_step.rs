//! Notes on a superstep that a run leaves interrupted, for the next run of the same graph. Knows no run.

use super::task_ends::TaskEnds;
use crate::graph::build::Table;
use crate::graph::state::{AnyState, Merge};
use crate::graph::superstep::position::apply_writes;
use crate::graph::superstep::{Task, TaskState};

/// Notes of a run on the superstep that it leaves, so that the next run looks only at the tasks that it changes.
pub(crate) struct LeftStep {
    pub(super) ends: TaskEnds,
    /// The state with the results so far, in the order in which the tasks finished; none without results.
    pub(super) checked: Option<(AnyState, Merge)>,
    /// The earliest time at which a question expires, in milliseconds since 1970.
    pub(super) expires: Option<u64>,
    /// The indexes of the tasks that this run changes; no other task runs.
    pub changed: Vec<usize>,
}

impl LeftStep {
    /// Returns true if a question has expired by this time.
    pub(crate) fn has_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Returns true if there is a copy of the state with results.
    pub(crate) fn has_results(&self) -> bool {
        self.checked.is_some()
    }

    /// Notes the ends of the tasks that the run changed. Returns nothing if results cannot be applied in this order.
    pub(super) fn with_ends(mut self, table: &Table, state: &AnyState, tasks: &[Task]) -> Option<Self> {
        for &at in &self.changed {
            self.ends.set(at, &tasks[at]);
            if let TaskState::Done(done) = &tasks[at].state {
                let (state, merge) = self.checked.get_or_insert_with(|| (state.clone(), Merge::default()));
                apply_writes(table, state, done.writes.0.iter().cloned(), merge).ok()?;
            }
        }
        Some(self)
    }
}

/// A superstep that a run left, with its tasks.
pub(crate) struct KeptStep {
    pub(super) tasks: Vec<Task>,
    pub(super) open: usize,
    pub left: LeftStep,
}

impl KeptStep {
    /// Returns the number of its tasks.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }
}
