//! What the command line adds to the events of a thread.

use serde_json::{Value, json};

use super::shows::Labels;
use super::time::now;
use crate::graph::Event;
use crate::graph::shape::event::brief;

/// Returns the event as JSON, with the label of the task that it starts.
pub(crate) fn happened(event: &Event, labels: &Labels) -> Option<Value> {
    let mut json = brief(event)?;
    if let Some(label) = labels.of(event) {
        json["label"] = label.into();
    }
    Some(json)
}

/// The same with the time: it happened just now.
pub(crate) fn happened_now(event: &Event, labels: &Labels) -> Option<Value> {
    let mut json = happened(event, labels)?;
    json["at"] = now().into();
    Some(json)
}

/// Returns the event for supersteps that are not in the store.
pub(crate) fn gap(missing: u64, step: i64) -> Value {
    json!({ "kind": "gap", "missing": missing, "step": step })
}
