//! An event as JSON, the same for a live run and a replay.

use serde_json::{Value, json};

use super::fields::serialize_as;
use super::question::{AnswerShape, QuestionShape};
use crate::graph::interrupt::Question;
use crate::graph::view::{CheckpointView, Event, EventKind, TaskView};

fn shape(event: &Event) -> Value {
    let mut out = with_place(kind(&event.kind), event);
    out["seq"] = event.seq.into();
    if let Some(thread) = &event.thread {
        out["thread"] = thread.as_str().into();
    }
    out
}

/// Adds the superstep, the task and the subgraph of an event.
fn with_place(mut out: Value, event: &Event) -> Value {
    out["step"] = event.step.into();
    if let Some(task) = event.task() {
        out["task"] = (*task.id).into();
        out["path"] = json!(*task.path);
    }
    if !event.namespace.is_empty() {
        out["namespace"] = json!(event.namespace.to_vec());
    }
    out
}

fn kind(kind: &EventKind) -> Value {
    match kind {
        EventKind::Values { values, questions } => {
            json!({ "kind": "values", "state": values.json(), "questions": question_shapes(questions) })
        }
        EventKind::Update { node, writes, cached, .. } => {
            json!({ "kind": "update", "node": &**node, "writes": writes.json(), "cached": cached })
        }
        EventKind::Interrupt { questions } => json!({ "kind": "interrupt", "questions": question_shapes(questions) }),
        EventKind::Answered { node, answer, .. } => {
            let AnswerShape { name, value, by, at, note } = answer.into();
            json!({ "kind": "answered", "node": &**node, "question": name, "answer": value, "by": by, "note": note, "at": at })
        }
        EventKind::Journal { node, entry, .. } => json!({ "kind": "journal", "node": &**node, "entry": entry }),
        EventKind::Custom { node, value, .. } => json!({ "kind": "custom", "node": &**node, "value": value }),
        EventKind::Message { node, value, metadata, .. } => {
            json!({ "kind": "message", "node": &**node, "value": value, "tags": *metadata.tags })
        }
        EventKind::TaskStart { node, input, sent, remaining_steps, .. } => {
            let mut out = task_start(node);
            out["input"] = input.json();
            out["sent"] = json!(sent);
            out["remaining_steps"] = json!(remaining_steps);
            out
        }
        EventKind::TaskEnd { node, error: Some(error), .. } => {
            json!({ "kind": "failed", "node": &**node, "error": error })
        }
        EventKind::TaskEnd { node, questions, .. } if !questions.is_empty() => {
            json!({ "kind": "asked", "node": &**node, "questions": question_shapes(questions) })
        }
        EventKind::TaskEnd { node, writes, dropped, .. } if dropped.is_empty() => {
            json!({ "kind": "end", "node": &**node, "writes": writes.json() })
        }
        EventKind::TaskEnd { node, writes, dropped, .. } => {
            json!({ "kind": "end", "node": &**node, "writes": writes.json(), "dropped": dropped })
        }
        EventKind::Checkpoint(made) => {
            let mut out = checkpoint(made);
            out["ran"] = json!(made.ran);
            out["state"] = made.values.json();
            out["tasks"] = made.tasks.iter().map(task).collect();
            out
        }
        EventKind::Stored => json!({ "kind": "stored" }),
    }
}

fn task_start(node: &str) -> Value {
    json!({ "kind": "start", "node": node })
}

fn checkpoint(made: &CheckpointView) -> Value {
    json!({ "kind": "checkpoint", "checkpoint": made.id, "source": made.source.as_str(), "next": made.next })
}

fn task(task: &TaskView) -> Value {
    json!({
        "node": task.name,
        "error": task.error,
        "writes": task.result.as_ref().map(|result| result.json()),
        "questions": question_shapes(&task.questions),
    })
}

fn question_shapes(questions: &[Question]) -> Vec<QuestionShape> {
    questions.iter().map(QuestionShape::from).collect()
}

serialize_as!(Event => shape);

/// Returns the event as the command line prints it; `None` for events whose content another one repeats. Left out: the
/// event's number and thread, which differ between a run and its replay, and states, which `show` prints.
#[cfg_attr(not(feature = "app"), allow(dead_code, reason = "only the command line shows it"))]
pub(crate) fn brief(event: &Event) -> Option<Value> {
    let out = match &event.kind {
        EventKind::Values { .. } | EventKind::Update { .. } | EventKind::Interrupt { .. } | EventKind::Stored => {
            return None;
        }
        EventKind::TaskStart { node, .. } => task_start(node),
        EventKind::Checkpoint(made) => checkpoint(made),
        EventKind::Answered { .. } | EventKind::Journal { .. } | EventKind::Custom { .. } => kind(&event.kind),
        EventKind::Message { .. } | EventKind::TaskEnd { .. } => kind(&event.kind),
    };
    Some(with_place(out, event))
}
