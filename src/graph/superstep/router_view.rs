//! The state as routers beside siblings see it: with the writes of their own task. The tasks of a superstep share one copy
//! of the state: after each task, the channels that it changed are reset. Knows no store.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::position::apply_alone;
use crate::graph::build::Table;
use crate::graph::node::NodeId;
use crate::graph::state::{ApplyError, State, Writes};

/// The object that a node returned.
type Returned = Arc<Map<String, Value>>;

/// A copy of the state of a superstep, once a router needed one.
#[derive(Debug)]
pub(crate) struct RouterView<S>(Option<S>);

impl<S> Default for RouterView<S> {
    fn default() -> Self {
        Self(None)
    }
}

impl<S: State> RouterView<S> {
    /// Calls `read` with the state and these writes. `state` is the same in each call.
    pub(crate) fn with<N: NodeId, C, T>(
        &mut self,
        table: &Table<S, N, C>,
        state: &S,
        (writes, returned): (&Writes<S>, Option<Returned>),
        read: impl FnOnce(&S) -> T,
    ) -> Result<T, ApplyError> {
        let mut seen = self.0.take().unwrap_or_else(|| state.clone());
        let changed = apply_alone(table, &mut seen, writes)?;
        if let Some(returned) = returned {
            seen.note_returned(returned);
        }
        let read = read(&seen);
        seen.reset(&changed, state);
        self.0 = Some(seen);
        Ok(read)
    }
}
