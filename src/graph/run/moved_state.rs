//! A state that moves: a graph gives its state away while its one task runs, so that the writes of a subgraph over it need
//! no copy. It comes back as it was, however the task ends.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use superstep_base::panics::catch_panic;

use super::state::{Run, TakenState};
use crate::graph::context::MovedState;
use crate::graph::state::AnyState;

impl Run {
    /// Returns true if a task of this node may have the state: it runs alone, and it may run a subgraph over the state.
    pub(super) fn may_move_state(&self, node: u32) -> bool {
        let may_need_it = !self.table.row(node).children.is_empty();
        self.step.tasks.len() == 1 && may_need_it && self.table.schema.can_undo()
    }

    /// Gives the state to the lone task, which has a copy of it.
    pub(super) fn move_state(&mut self, to: Option<Arc<MovedState>>) {
        if let Some(to) = to {
            to.put(std::mem::replace(&mut self.pos.state, AnyState::nothing()));
            self.step.moved_state = Some(to);
        }
    }

    /// Takes the state back from a task that has ended.
    pub(super) fn take_state_back(&mut self) {
        if let Some(state) = self.step.moved_state.take().and_then(|moved| moved.take()) {
            self.pos.state = state;
        }
    }

    /// Returns the state of the graph around as it was.
    pub(crate) fn return_state(&mut self) {
        self.take_state_back();
        let Some(TakenState { from, undo }) = self.child.taken_state.take() else { return };
        let mut state = std::mem::replace(&mut self.pos.state, AnyState::nothing());
        // If the drop of a value panics, the state is gone, and the graph around fails when it looks at it.
        if catch_panic(|| undo.undo(&self.table.schema, &mut state)).is_ok() {
            from.put(state);
        }
    }
}

/// A run of a subgraph, which returns the state that it has taken even if it is dropped.
pub(crate) struct ChildRun(pub Run);

impl Drop for ChildRun {
    fn drop(&mut self) {
        self.0.return_state();
    }
}

impl Deref for ChildRun {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.0
    }
}

impl DerefMut for ChildRun {
    fn deref_mut(&mut self) -> &mut Run {
        &mut self.0
    }
}
