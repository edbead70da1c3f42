//! Events of the engine as events on the wire. Knows names and shapes; must not know who reads them.

use serde_json::{Value, json};
use superstep::graph::stream::CheckpointView;
use superstep::graph::{Event, EventKind};

use crate::wire::{checkpoint, interrupts, update, with_interrupts};

/// An event on the wire: its name and its data.
pub(crate) type WireEvent = (&'static str, Value);

/// Returns an event of a run on the wire; `None` for one that no client knows.
pub(crate) fn wire_event(thread: &str, event: &Event) -> Option<WireEvent> {
    let node = event.node().unwrap_or_default();
    Some(match &event.kind {
        EventKind::Values { values, questions } => ("values", with_interrupts(values.json(), questions)),
        EventKind::Update { writes, .. } => ("updates", json!({ node: update(&writes.json()) })),
        EventKind::Interrupt { questions } => ("updates", json!({ "__interrupt__": interrupts(questions) })),
        EventKind::Custom { value } => ("custom", value.clone()),
        EventKind::Message { value, tags } => ("messages", json!([value, message_metadata(event, node, tags)])),
        EventKind::TaskStart { input, .. } => {
            ("tasks", json!({ "id": task(event), "name": node, "input": input.json(), "triggers": [], "metadata": {} }))
        }
        EventKind::TaskEnd { error, writes, questions, .. } => {
            let (result, asked) = (update(&writes.json()), interrupts(questions));
            ("tasks", json!({ "id": task(event), "name": node, "error": error, "result": result, "interrupts": asked }))
        }
        EventKind::Checkpoint(made) => ("checkpoints", checkpoint_event(thread, made)),
        _ => return None,
    })
}

/// Returns an event as one of the mode `debug`; `None` if it has none.
pub(crate) fn debug_event(step: i64, (name, data): &WireEvent) -> Option<WireEvent> {
    let kind = match *name {
        "checkpoints" => "checkpoint",
        "tasks" if data.get("input").is_some() => "task",
        "tasks" => "task_result",
        _ => return None,
    };
    Some(("debug", json!({ "step": step, "type": kind, "payload": data })))
}

fn task(event: &Event) -> &str {
    event.task.as_ref().map_or("", |task| &task.id)
}

fn message_metadata(event: &Event, node: &str, tags: &[String]) -> Value {
    let namespace = event.namespace.join("|");
    json!({ "langgraph_node": node, "langgraph_step": event.step, "langgraph_checkpoint_ns": namespace, "tags": tags })
}

fn checkpoint_event(thread: &str, made: &CheckpointView) -> Value {
    json!({
        "config": { "configurable": made.id.map(|id| checkpoint(thread, id)) },
        "parent_config": null,
        "values": made.values.json(),
        "metadata": { "source": made.source.as_str(), "step": made.step, "parents": {} },
        "next": made.next,
        "tasks": made.tasks,
    })
}
