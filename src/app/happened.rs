//! What the command line adds to the events of a thread.

use serde_json::{Value, json};

/// What led to a superstep is not in the store.
pub(crate) fn gap(missing: u64, step: i64) -> Value {
    json!({ "kind": "gap", "missing": missing, "step": step })
}
