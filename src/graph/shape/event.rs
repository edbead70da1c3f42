//! An event as JSON: the same for a run under way and for one that is replayed.

use serde_json::{Value, json};

use super::fields::serialize_as;
use super::question::{AnswerShape, QuestionShape};
use crate::graph::interrupt::Question;
use crate::graph::view::{CheckpointView, Event, EventKind, TaskView};

fn shape(event: &Event) -> Value {
    let mut told = placed(kind(&event.kind), event);
    told["seq"] = event.seq.into();
    if let Some(thread) = &event.thread {
        told["thread"] = thread.as_str().into();
    }
    told
}

/// Adds the superstep, the task and the subgraph of an event.
fn placed(mut told: Value, event: &Event) -> Value {
    told["step"] = event.step.into();
    if let Some(task) = event.task() {
        told["task"] = (*task.id).into();
        told["path"] = json!(*task.path);
    }
    if !event.namespace.is_empty() {
        told["namespace"] = json!(event.namespace.to_vec());
    }
    told
}

fn kind(kind: &EventKind) -> Value {
    match kind {
        EventKind::Values { values, questions } => {
            json!({ "kind": "values", "state": values.json(), "questions": asked(questions) })
        }
        EventKind::Update { node, writes, cached, .. } => {
            json!({ "kind": "update", "node": &**node, "writes": writes.json(), "cached": cached })
        }
        EventKind::Interrupt { questions } => json!({ "kind": "interrupt", "questions": asked(questions) }),
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
            let mut told = task_start(node);
            told["input"] = input.json();
            told["sent"] = json!(sent);
            told["remaining_steps"] = json!(remaining_steps);
            told
        }
        EventKind::TaskEnd { node, error: Some(error), .. } => {
            json!({ "kind": "failed", "node": &**node, "error": error })
        }
        EventKind::TaskEnd { node, questions, .. } if !questions.is_empty() => {
            json!({ "kind": "asked", "node": &**node, "questions": asked(questions) })
        }
        EventKind::TaskEnd { node, writes, .. } => json!({ "kind": "end", "node": &**node, "writes": writes.json() }),
        EventKind::Checkpoint(made) => {
            let mut told = checkpoint(made);
            told["ran"] = json!(made.ran);
            told["state"] = made.values.json();
            told["tasks"] = made.tasks.iter().map(task).collect();
            told
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
        "questions": asked(&task.questions),
    })
}

fn asked(questions: &[Question]) -> Vec<QuestionShape> {
    questions.iter().map(QuestionShape::from).collect()
}

serialize_as!(Event => shape);

/// The event as the command line prints it; none for what another event reports too. Left out: the count of the event and
/// its thread, which differ between a run and its replay, and states, which `show` prints.
#[cfg_attr(not(feature = "app"), allow(dead_code, reason = "only the command line shows it"))]
pub(crate) fn brief(event: &Event) -> Option<Value> {
    let told = match &event.kind {
        EventKind::Values { .. } | EventKind::Update { .. } | EventKind::Interrupt { .. } | EventKind::Stored => {
            return None;
        }
        EventKind::TaskStart { node, .. } => task_start(node),
        EventKind::Checkpoint(made) => checkpoint(made),
        EventKind::Answered { .. } | EventKind::Journal { .. } | EventKind::Custom { .. } => kind(&event.kind),
        EventKind::Message { .. } | EventKind::TaskEnd { .. } => kind(&event.kind),
    };
    Some(placed(told, event))
}
