//! Running the routers after a node: beside siblings over the state with the task's own writes, otherwise over the new
//! state.

use std::sync::{Arc, PoisonError};

use superstep_base::panics::catch_panic_as;

use super::state::Run;
use crate::checkpoint::CheckpointId;
use crate::graph::error::RunError;
use crate::graph::state::{AnyState, AnyWrites, ApplyError};
use crate::graph::superstep::position::{fresh_read, named};
use crate::graph::superstep::{Finished, Resolve, RouterView};

impl Run {
    /// Runs the routers of a task's node over the state with only this task's writes.
    pub(crate) fn route(&self, at: usize, result: &mut Finished) -> Result<(), RunError> {
        let task = &self.step.tasks[at];
        if self.table.row(task.node).exits.routers.is_empty() {
            return Ok(());
        }
        let (writes, returned) = (std::mem::take(&mut result.writes), result.returned.clone());
        // A replay runs a superstep over several states.
        let mut own = RouterView::default();
        let mut shared = self.step.router_view.lock().unwrap_or_else(PoisonError::into_inner);
        let view = if self.shared.replay.is_some() { &mut own } else { &mut *shared };
        let choose = |seen: &AnyState| self.choose(task.node, task.key, seen, result);
        let chosen = view.with(&self.table, &self.pos.state, (&writes, returned), choose);
        result.writes = writes;
        chosen.map_err(|error| self.not_seen(at, error))?
    }

    /// Runs the routers after a node over this state.
    pub(crate) fn choose(&self, node: u32, key: u32, seen: &AnyState, result: &mut Finished) -> Result<(), RunError> {
        self.choose_as(node, (self.pos.meta.id, key), seen, result)
    }

    /// Runs the routers after a node, with sends stored under other row ids.
    pub(crate) fn choose_as(
        &self,
        node: u32,
        made_by: (CheckpointId, u32),
        seen: &AnyState,
        result: &mut Finished,
    ) -> Result<(), RunError> {
        let from = self.node_name(node);
        let exits = self.table.exits(node);
        let resolve = Resolve { table: &self.table, from: &from, made_by };
        let choose = || {
            let mut routers = exits.routers.iter();
            routers.try_for_each(|branch| resolve.branch(branch, seen, &self.shared.context, result))
        };
        catch_panic_as(choose, |panic| self.panicked(Arc::clone(&from), format!("its router: {panic}")))
    }

    pub(crate) fn own_view(&self, at: usize, state: &AnyState, writes: &AnyWrites) -> Result<AnyState, RunError> {
        fresh_read(&self.table, state, writes).map_err(|error| self.not_seen(at, error))
    }

    fn not_seen(&self, at: usize, error: ApplyError) -> RunError {
        let node = vec![self.node_name(self.step.tasks[at].node).to_string()];
        named(&self.table, self.pos.meta.step + 1, error, node)
    }
}
