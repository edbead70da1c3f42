//! The webhook of a run that has ended. Knows its body; must not know how it is sent.
//!
//! Small because a run is its own JSON.

use serde_json::{Value, json};

use crate::records::delivery::DeliveryRecord;
use crate::records::run::{RunRecord, RunStatus};
use crate::records::time::time_text;

/// Largest state that is sent, in bytes as JSON; a larger one is read from its thread.
const LARGEST: usize = 32 << 20;

/// Returns the webhook of a run that has ended; `None` if it was created without one.
pub(super) fn delivery(before: &RunRecord, ended: &RunRecord, values: &Value) -> Option<DeliveryRecord> {
    let url = ended.request.get("webhook")?.as_str()?.to_owned();
    let mut body = ended.json();
    let started = (before.status == RunStatus::Running).then(|| time_text(before.updated_at));
    body["run_started_at"] = json!(started);
    body["run_ended_at"] = time_text(ended.updated_at).into();
    body["values"] = if values.to_string().len() > LARGEST { Value::Null } else { values.clone() };
    if let Some(failure) = &ended.error {
        body["error"] = json!(failure);
    }
    let now = ended.updated_at;
    Some(DeliveryRecord { run: ended.run, url, body, created_at: now, attempts: 0, due: now })
}
