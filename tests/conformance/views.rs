//! The engine's snapshots and results in the runner's shapes.

use serde_json::{Map, Value, json};
use superstep::checkpoint::Source;
use superstep::graph::StateSnapshot;
use superstep::graph::view::{NestedSnapshot, TaskSnapshot, View};

use crate::build::World;
use crate::outcome::{Question, Snapshot, TaskView};
use crate::states::{CaseNames, CaseState};

pub(crate) fn questions(questions: &[superstep::graph::Question]) -> Vec<Question> {
    let one =
        |question: &superstep::graph::Question| Question { id: question.id().to_string(), value: question.json() };
    questions.iter().map(one).collect()
}

pub(crate) fn source(source: Source) -> &'static str {
    match source {
        Source::Input => "input",
        Source::Loop => "loop",
        Source::Update => "update",
        Source::Fork => "fork",
    }
}

/// Returns the snapshot of the graph at a namespace.
pub(crate) fn snapshot<S: CaseState>(
    world: &World,
    at: &[String],
    found: StateSnapshot<S>,
    deep: bool,
) -> Option<Snapshot> {
    let values = found.values.values(world.case.graphs.get(world.graph_at(at)?)?).into();
    let names = CaseNames::of::<S>(world);
    let interrupts = found.questions().cloned().collect::<Vec<_>>();
    Some(Snapshot {
        values,
        next: found.next,
        tasks: found.tasks.into_iter().map(|found| task(names, at, found, deep)).collect(),
        interrupts: questions(&interrupts),
        step: Some(found.step),
        source: Some(source(found.source).to_owned()),
        has_parent: found.parent.is_some(),
    })
}

fn nested(names: CaseNames<'_>, at: &[String], found: NestedSnapshot) -> Snapshot {
    let interrupts = found.questions().cloned().collect::<Vec<_>>();
    Snapshot {
        values: names.state(at, found.values.json()),
        next: found.next,
        tasks: found.tasks.into_iter().map(|found| task(names, at, found, true)).collect(),
        interrupts: questions(&interrupts),
        step: Some(found.step),
        source: Some(source(found.source).to_owned()),
        has_parent: found.parent.is_some(),
    }
}

pub(crate) fn nothing() -> Snapshot {
    Snapshot {
        values: json!({}),
        next: vec![],
        tasks: vec![],
        interrupts: vec![],
        step: None,
        source: None,
        has_parent: false,
    }
}

fn task(names: CaseNames<'_>, at: &[String], found: TaskSnapshot, deep: bool) -> TaskView {
    let below: Vec<String> = at.iter().cloned().chain([found.name.clone()]).collect();
    let state = if !deep || !found.subgraph {
        None
    } else {
        Some(Box::new(found.state.map_or_else(nothing, |state| nested(names, &below, *state))))
    };
    TaskView {
        name: found.name,
        interrupts: questions(&found.questions),
        error: found.error.is_some(),
        result: found.result.as_ref().map(|writes| result(names, at, writes)),
        has_state: found.subgraph && state.is_none(),
        state,
    }
}

/// Returns writes as a task's result: several of one channel as `{"$writes": […]}`.
pub(crate) fn result(names: CaseNames<'_>, at: &[String], writes: &View) -> Value {
    let mut map: Map<String, Value> = Map::new();
    for (channel, value) in each(names, at, writes) {
        match map.get_mut(&channel) {
            None => {
                map.insert(channel, value);
            }
            Some(Value::Object(before)) if before.get("$writes").is_some_and(Value::is_array) => {
                if let Some(Value::Array(all)) = before.get_mut("$writes") {
                    all.push(value);
                }
            }
            Some(before) => *before = json!({"$writes": [before.take(), value]}),
        }
    }
    Value::Object(map)
}

/// Returns writes as an update: null for none, a list if a channel was written several times.
pub(crate) fn update(names: CaseNames<'_>, at: &[String], writes: &View) -> Value {
    let all = each(names, at, writes);
    if all.is_empty() {
        return Value::Null;
    }
    let twice = all.iter().enumerate().any(|(at, (name, _))| all[..at].iter().any(|(before, _)| before == name));
    if twice {
        return all.into_iter().map(|(name, value)| json!({ name: value })).collect();
    }
    Value::Object(all.into_iter().collect())
}

fn each(names: CaseNames<'_>, at: &[String], writes: &View) -> Vec<(String, Value)> {
    let Value::Array(writes) = writes.json() else { return vec![] };
    let pairs = writes.into_iter().filter_map(|write| match write {
        Value::Object(write) => write.into_iter().next(),
        _ => None,
    });
    names.writes(at, pairs.collect())
}
