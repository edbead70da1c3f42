//! The state of a graph while its one task runs: a subgraph over it takes it, writes to it in place, and returns it as it
//! was. Knows no run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::graph::state::AnyState;

/// A state that a task may take for as long as it runs.
#[derive(Default)]
pub(crate) struct MovedState(Mutex<Option<AnyState>>);

impl MovedState {
    pub(crate) fn put(&self, state: AnyState) {
        *self.lock() = Some(state);
    }

    /// Takes the state in exchange for a copy of it, so that nobody else has one. Fails with the copy if that is of another
    /// state.
    pub(crate) fn exchange(&self, copy: AnyState) -> Result<AnyState, AnyState> {
        let mut moved = self.lock();
        match moved.take() {
            Some(state) if state.is(&copy) => Ok(state),
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
