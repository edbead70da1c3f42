//! Checkpoints and tasks as JSON, in the shapes of `docs/json.md`, without what is large: states and inputs are read level by level,
//! journals with a single task. Knows no store.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::graph::view::{CheckpointOutline, Snapshot, TaskOutline, TaskSnapshot, View};

use super::level::{LevelPage, level, size};

/// The largest writes of a task that are shown whole, in bytes of JSON.
const WRITES: usize = 64 << 10;

/// Returns a checkpoint of a list: its tasks with the nodes on the way to them.
pub(crate) fn listed(checkpoint: &CheckpointOutline, path: &[String], tags: &[String]) -> Value {
    let mut shown = json!(checkpoint);
    shown["tags"] = json!(tags);
    for (task, outline) in shown["tasks"].as_array_mut().into_iter().flatten().zip(&checkpoint.tasks) {
        task["path"] = path_to(path, outline);
    }
    shown
}

fn path_to(path: &[String], task: &TaskOutline) -> Value {
    path.iter().chain([&task.name]).cloned().collect::<Vec<_>>().into()
}

/// Returns a checkpoint without its state, its tasks without their inputs.
pub(crate) fn checkpoint<V>(snapshot: &Snapshot<V>, outline: &CheckpointOutline, path: &[String]) -> Value {
    let mut shown = json!(snapshot.info());
    let of = |found: &TaskSnapshot| outline.tasks.iter().find(|task| task.id == found.id);
    let tasks = snapshot.tasks.iter().map(|found| task(found, of(found), path));
    (shown["next"], shown["tasks"]) = (json!(snapshot.next), tasks.collect());
    if !snapshot.carried.is_empty() {
        shown["carried"] = json!(snapshot.carried);
    }
    if !snapshot.misfits.is_empty() {
        shown["misfits"] = snapshot.misfits.iter().map(ToString::to_string).collect();
    }
    shown
}

/// Returns a task without its input; large writes are one level of them.
pub(crate) fn task(found: &TaskSnapshot, outline: Option<&TaskOutline>, path: &[String]) -> Value {
    let mut shown = json!(without_values(found));
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("input");
        fields.extend(outline.map(|outline| of_outline(outline, path)).unwrap_or_default());
    }
    let writes = found.result.as_ref().map(View::json).unwrap_or_default();
    match size(&writes) > WRITES {
        true => shown["writes_outline"] = json!(level(&writes, LevelPage::default())),
        false => shown["writes"] = writes,
    }
    shown
}

/// Returns a task whose values are null, so that they are not made into JSON.
fn without_values(found: &TaskSnapshot) -> TaskSnapshot {
    let (nothing, mut task) = (View::of_payload(Arc::new(())), found.clone());
    (task.input, task.state) = (nothing.clone(), None);
    task.result = task.result.map(|_| nothing);
    task
}

/// Returns what only an outline knows of a task, and its status in the words of the list.
fn of_outline(outline: &TaskOutline, path: &[String]) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Value::Object(mut known) = json!(outline) {
        let names = ["status", "attempts", "started_at", "ended_at", "has_inside"];
        fields.extend(names.into_iter().filter_map(|name| Some((name.to_owned(), known.remove(name)?))));
    }
    fields.insert("path".into(), path_to(path, outline));
    fields
}
