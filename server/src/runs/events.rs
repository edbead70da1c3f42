//! Events of the engine as events on the wire, for the modes of a run. Knows names and shapes; must not know who reads them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use superstep::graph::{AnyGraph, Event, EventKind, Mode};
use superstep_base::time::now;

use super::checkpoint_events::{checkpoint_event, debug_checkpoint};
use super::messages::Messages;
use super::request::StreamModes;
use crate::graph_place::GraphPlace;
use crate::message_form::takes_changes;
use crate::records::run::RunRecord;
use crate::records::thread::RunFailure;
use crate::records::time::time_text;
use crate::wire::{Updates, WireEvent, all_asked, with_interrupts, written};

/// Converts the events of one execution of a run.
pub(crate) struct Converter<'a> {
    run: &'a RunRecord,
    /// The metadata of its tasks.
    metadata: Value,
    modes: &'a StreamModes,
    /// Those of the engine's events that become events on the wire.
    engine_modes: BTreeSet<Mode>,
    /// Set if the events of subgraphs are sent too, under names with their namespace.
    pub(super) has_subgraphs: bool,
    updates: Updates,
    messages: Messages,
}

impl<'a> Converter<'a> {
    pub(crate) fn new(graph: &AnyGraph, run: &'a RunRecord, modes: &'a StreamModes, has_subgraphs: bool) -> Self {
        let messages = Messages::new(modes.has_tuples());
        let engine_modes = modes.of_engine();
        let (metadata, updates) = (task_metadata(run), Updates::of(graph));
        Self { run, metadata, modes, engine_modes, has_subgraphs, updates, messages }
    }

    /// Sends an event as those of the modes that the run was created with.
    pub(crate) fn convert(&mut self, event: &Event, send: &mut dyn FnMut(Cow<'static, str>, Value)) {
        if !event.namespace.is_empty() && !self.has_subgraphs {
            return;
        }
        if !self.engine_modes.iter().any(|mode| event.is(*mode)) {
            return; // one that somebody else asked for
        }
        let mut send = |(name, data): WireEvent| send(with_namespace(name, &event.namespace), data);
        if self.modes.has_messages() {
            self.messages.convert(event, &self.updates).into_iter().for_each(&mut send);
        }
        let is_debugged = self.modes.has("debug");
        if !(is_debugged || wire_name(&event.kind).is_some_and(|name| self.modes.has(name))) {
            return; // an event that only somebody beside the run has asked for
        }
        let Some((name, data)) = self.wire_event(event) else { return };
        if is_debugged && let Some(kind) = debug_kind(name, &data) {
            let timestamp = time_text(now());
            let payload = if kind == "checkpoint" { debug_checkpoint(&data) } else { data.clone() };
            send((
                "debug".into(),
                json!({ "step": event.step, "timestamp": timestamp, "type": kind, "payload": payload }),
            ));
        }
        if self.modes.has(name) {
            send((name.into(), data));
        }
    }

    /// Returns an event on the wire; `None` for one that no client knows. Pieces of messages are converted apart.
    fn wire_event(&self, event: &Event) -> Option<(&'static str, Value)> {
        let node = event.node().unwrap_or_default();
        let task = event.task.as_ref().map_or("", |task| &task.id);
        let data = match &event.kind {
            EventKind::Values { values, questions } => with_interrupts(values.json(), questions),
            EventKind::Update { writes, .. } => json!({ node: self.updates.json(&writes.json()) }),
            EventKind::Interrupt { questions } => json!({ "__interrupt__": all_asked(questions) }),
            EventKind::Custom { value } => value.clone(),
            EventKind::TaskStart { input, sent, .. } => {
                let trigger = if *sent { "__pregel_push".to_owned() } else { format!("branch:to:{node}") };
                let (input, metadata) = (written(input.json()), &self.metadata);
                json!({ "id": task, "name": node, "input": input, "triggers": [trigger], "metadata": metadata })
            }
            EventKind::TaskEnd { error, writes, questions, .. } => {
                let (result, asked) = (self.updates.json(&writes.json()), all_asked(questions));
                let result = if result.is_null() { json!({}) } else { result };
                let error = error.as_deref().map(RunFailure::of_task);
                json!({ "id": task, "name": node, "error": error, "result": result, "interrupts": asked })
            }
            EventKind::Checkpoint(made) => {
                checkpoint_event(&GraphPlace::of(&self.run.thread, &event.namespace), made, &self.updates)
            }
            _ => return None,
        };
        Some((wire_name(&event.kind)?, data))
    }
}

/// Returns the metadata of the tasks of a run: its own, and the ids that it is known by.
fn task_metadata(run: &RunRecord) -> Value {
    let mut metadata = run.metadata.clone();
    let ids =
        [("graph_id", run.graph.clone()), ("assistant_id", run.assistant.to_string()), ("run_id", run.run.to_string())];
    metadata.extend(ids.map(|(name, id)| (name.to_owned(), id.into())));
    metadata.into()
}

/// Returns the name of an event on the wire; `None` for one that no client knows.
fn wire_name(kind: &EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::Values { .. } => "values",
        EventKind::Update { .. } | EventKind::Interrupt { .. } => "updates",
        EventKind::Custom { .. } => "custom",
        EventKind::TaskStart { .. } | EventKind::TaskEnd { .. } => "tasks",
        EventKind::Checkpoint(_) => "checkpoints",
        _ => return None,
    })
}

impl Updates {
    /// Returns the form of updates of a graph.
    pub(crate) fn of(graph: &AnyGraph) -> Self {
        let channels = graph.channels().iter().filter(|channel| takes_changes(channel));
        Self { messages: channels.map(|channel| channel.name().to_owned()).collect() }
    }
}

fn with_namespace(name: Cow<'static, str>, namespace: &[String]) -> Cow<'static, str> {
    if namespace.is_empty() { name } else { format!("{name}|{}", namespace.join("|")).into() }
}

/// Returns the kind of an event of the mode `debug`; `None` if the event is none.
fn debug_kind(name: &str, data: &Value) -> Option<&'static str> {
    match name {
        "checkpoints" => Some("checkpoint"),
        "tasks" if data.get("input").is_some() => Some("task"),
        "tasks" => Some("task_result"),
        _ => None,
    }
}
