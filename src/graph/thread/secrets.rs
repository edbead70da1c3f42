//! The secret channels of a thread's state.

use std::sync::Arc;

use crate::graph::build::Table;
use crate::graph::state::{AnyState, AnyWrite};
use crate::graph::view::Secrets;
use crate::graph::view::untyped::channel_json;

impl Secrets {
    /// Returns the secret values of a state, and of a task's writes.
    pub(crate) fn of(table: &Arc<Table>, state: &AnyState, written: Vec<AnyWrite>) -> Self {
        if !table.schema.channels().iter().any(|channel| channel.is_secret()) {
            return Self::default();
        }
        let (table, state) = (Arc::clone(table), state.clone());
        Self(vec![Arc::new(move || {
            let channels = table.schema.channels();
            let secret = |at: &usize| channels[*at].is_secret();
            let held = (0..channels.len()).filter(secret).filter_map(|at| channel_json(&state, &table.schema, at));
            let json = |write| table.schema.write_json(write).ok();
            let written = written.iter().filter(|write| secret(&write.channel())).filter_map(json);
            held.chain(written).collect()
        })])
    }
}
