//! Events of a thread as JSON, with what the command line adds to them.

use serde_json::{Value, json};

use super::presentation::Labels;
use super::time::now;
use crate::graph::Event;
use crate::graph::shape::event::brief;

/// Converts an event to JSON, with the label of the task that it starts.
pub(crate) fn event_json(event: &Event, labels: &Labels) -> Option<Value> {
    let mut json = brief(event)?;
    if let Some(label) = labels.of(event) {
        json["label"] = label.into();
    }
    Some(json)
}

/// Converts an event to JSON and adds the current time, and whether it is about a step of the machinery.
pub(crate) fn timed_event_json(event: &Event, labels: &Labels) -> Option<Value> {
    let mut json = event_json(event, labels)?;
    json["at"] = now().into();
    if labels.is_machinery(&json) {
        json["machinery"] = true.into();
    }
    Some(json)
}

/// Returns the event for supersteps that are not in the store.
pub(crate) fn gap(missing: u64, step: i64) -> Value {
    json!({ "kind": "gap", "missing": missing, "step": step })
}
