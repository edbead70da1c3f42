//! The secret channels of a thread's state.

use std::sync::Arc;

use crate::graph::build::Table;
use crate::graph::state::State;
use crate::graph::view::Secrets;
use crate::graph::view::untyped::channel_json;

impl Secrets {
    /// Returns the secret values of a state, and of a task's writes.
    pub(crate) fn of<S: State, N: Send + Sync + 'static, C: Send + Sync + 'static>(
        table: &Arc<Table<S, N, C>>,
        state: &Arc<S>,
        written: Vec<S::Write>,
    ) -> Self {
        if !S::channels(&table.schema).iter().any(|channel| channel.is_secret()) {
            return Self::default();
        }
        let (table, state) = (Arc::clone(table), Arc::clone(state));
        Self(vec![Arc::new(move || {
            let channels = S::channels(&table.schema);
            let secret = |at: &usize| channels[*at].is_secret();
            let held = (0..channels.len()).filter(secret).filter_map(|at| channel_json(&*state, &table.schema, at));
            let json = |write| S::encode_write(&table.schema, write, serde_json::value::Serializer).ok();
            let written = written.iter().filter(|write| secret(&S::channel_of(write))).filter_map(json);
            held.chain(written).collect()
        })])
    }
}
