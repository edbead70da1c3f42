//! What the command line adds to the events of a thread.

use serde_json::{Value, json};

use super::time::now;
use crate::graph::Event;
use crate::graph::shape::event::brief;

/// Returns the event as JSON, with the time: it happened just now.
pub(crate) fn happened_now(event: &Event) -> Option<Value> {
    let mut told = brief(event)?;
    told["at"] = now().into();
    Some(told)
}

/// What led to a superstep is not in the store.
pub(crate) fn gap(missing: u64, step: i64) -> Value {
    json!({ "kind": "gap", "missing": missing, "step": step })
}
