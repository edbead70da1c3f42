//! The state as routers beside siblings see it: with the writes of their own task. The tasks of a superstep share one copy
//! of the state: after each task, the channels that it changed are reset. Knows no store.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::position::apply_alone;
use crate::graph::build::Table;
use crate::graph::state::{AnyState, AnyWrites, ApplyError};

/// The object that a node returned.
type Returned = Arc<Map<String, Value>>;

/// A copy of the state of a superstep, once a router needed one.
#[derive(Default)]
pub(crate) struct RouterView(Option<AnyState>);

impl RouterView {
    /// Calls `read` with the state and these writes. `state` is the same in each call.
    pub(crate) fn with<T>(
        &mut self,
        table: &Table,
        state: &AnyState,
        (writes, returned): (&AnyWrites, Option<Returned>),
        read: impl FnOnce(&AnyState) -> T,
    ) -> Result<T, ApplyError> {
        let mut seen = self.0.take().unwrap_or_else(|| state.clone());
        let changed = apply_alone(table, &mut seen, writes)?;
        if let Some(returned) = returned {
            seen.note_returned(returned);
        }
        let read = read(&seen);
        table.schema.reset(&mut seen, &changed, state);
        self.0 = Some(seen);
        Ok(read)
    }
}
