//! An event as JSON: the same for a run under way and for one that is told again.

use serde_json::{Value, json};

use super::thread::source;
use super::time::rfc3339;
use crate::graph::{Event, EventKind, Question};

/// Returns the event as JSON; none for what another event tells too.
pub(crate) fn happened(event: &Event) -> Option<Value> {
    let mut told = match &event.kind {
        EventKind::TaskStart { node, .. } => json!({ "kind": "start", "node": &**node }),
        EventKind::TaskEnd { node, error: Some(error), .. } => {
            json!({ "kind": "failed", "node": &**node, "error": error })
        }
        EventKind::TaskEnd { node, questions, .. } if !questions.is_empty() => {
            json!({ "kind": "asked", "node": &**node, "questions": questions.iter().map(asked).collect::<Vec<_>>() })
        }
        EventKind::TaskEnd { node, writes, .. } => json!({ "kind": "end", "node": &**node, "writes": writes.json() }),
        EventKind::Answered { node, answer, .. } => json!({
            "kind": "answered", "node": &**node, "question": answer.name, "answer": answer.value,
            "by": answer.by, "note": answer.note, "at": rfc3339(answer.at),
        }),
        EventKind::Custom { node, value, .. } => json!({ "kind": "custom", "node": &**node, "value": value }),
        EventKind::Message { node, value, metadata, .. } => {
            json!({ "kind": "message", "node": &**node, "value": value, "tags": *metadata.tags })
        }
        EventKind::Checkpoint(made) => json!({
            "kind": "checkpoint", "checkpoint": made.id, "source": source(made.source), "next": made.next,
        }),
        EventKind::Values { .. } | EventKind::Update { .. } | EventKind::Interrupt { .. } | EventKind::Stored => {
            return None;
        }
    };
    told["step"] = event.step.into();
    if let Some(task) = event.task() {
        told["task"] = (*task.id).into();
        told["path"] = json!(*task.path);
    }
    if !event.namespace.is_empty() {
        told["namespace"] = json!(event.namespace.to_vec());
    }
    Some(told)
}

/// What led to a superstep is not in the store.
pub(crate) fn gap(missing: u64, step: i64) -> Value {
    json!({ "kind": "gap", "missing": missing, "step": step })
}

fn asked(question: &Question) -> Value {
    json!({ "id": question.id().to_string(), "name": question.name(), "payload": question.json() })
}
