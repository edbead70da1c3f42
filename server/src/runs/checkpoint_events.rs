//! Checkpoints as events of the modes `checkpoints` and `debug`: their tasks and parents have the ids that states have. Knows shapes alone.

use serde_json::{Map, Value, json};
use superstep::graph::stream::{CheckpointView, TaskView};

use crate::graph_place::GraphPlace;
use crate::wire::{Updates, all_asked, is_before_input, subgraph_place, written};

/// Returns a checkpoint of the graph at a place.
pub(super) fn checkpoint_event(place: &GraphPlace<'_>, made: &CheckpointView, updates: &Updates) -> Value {
    let parent = made.parent.map(|id| json!({ "configurable": place.checkpoint(id) }));
    json!({
        "config": { "configurable": made.id.map(|id| place.checkpoint(id)) },
        "parent_config": parent,
        "values": if is_before_input(place, made.step) { json!({}) } else { written(made.values.json()) },
        "metadata": { "source": made.source.as_str(), "step": made.step, "parents": place.parents() },
        "next": made.next,
        "tasks": made.tasks.iter().map(|task| task_of(place, task, updates)).collect::<Vec<_>>(),
    })
}

/// Returns a task of a checkpoint: with its error, or with its questions, and its result once it has one.
fn task_of(place: &GraphPlace<'_>, task: &TaskView, updates: &Updates) -> Value {
    let inside = || json!({ "configurable": subgraph_place(&place.of_task(&task.name, &task.id)) });
    let mut shown = Map::from_iter([("id".to_owned(), json!(task.id)), ("name".to_owned(), json!(task.name))]);
    let mut put = |name: &str, value: Value| _ = shown.insert(name.to_owned(), value);
    match (&task.error, &task.result) {
        (Some(error), _) => put("error", json!(error)),
        (None, Some(writes)) => put("result", updates.json(&writes.json())),
        (None, None) => {}
    }
    if task.error.is_none() {
        put("interrupts", all_asked(&task.questions).into());
    }
    put("state", if task.subgraph { inside() } else { Value::Null });
    shown.into()
}

/// Returns a checkpoint as the mode `debug` shows it: its place and that of its parent stand beside its configuration, and its tasks
/// name the places of their subgraphs.
pub(super) fn debug_checkpoint(event: &Value) -> Value {
    let mut shown = event.clone();
    shown["checkpoint"] = event["config"]["configurable"].clone();
    shown["parent_checkpoint"] = event["parent_config"]["configurable"].clone();
    for task in shown["tasks"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(inside) = task.get("state").and_then(|state| state.get("configurable")).cloned() {
            task.remove("state");
            task.insert("checkpoint".into(), inside);
        }
    }
    shown
}
