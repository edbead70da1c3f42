//! Secret channels: their values in what clients have sent, and where nodes have copied them to. Must not know routes.

use serde_json::Value;
use serde_json::value::Serializer;
use superstep::graph::view::{NestedSnapshot, TaskSnapshot};
use superstep::graph::{AnyGraph, AnyState, Event, EventKind, SecretValues, State, StateSnapshot};

/// The replacement of a secret.
const HIDDEN: &str = "[secret]";

/// Returns the names of the secret channels of a graph.
pub(crate) fn secret_channels(graph: &AnyGraph) -> Vec<String> {
    let secret = graph.channels().iter().filter(|channel| channel.is_secret());
    secret.map(|channel| channel.name().to_owned()).collect()
}

/// Returns the request for a run as it is shown: without what is written to secret channels. An answer may be written to them too.
pub(crate) fn visible_request(request: &Value, secret_channels: &[String]) -> Value {
    let mut shown = request.clone();
    if secret_channels.is_empty() {
        return shown;
    }
    for place in ["/input", "/command/update"] {
        let fields = shown.pointer_mut(place).and_then(Value::as_object_mut);
        let secret = fields.into_iter().flatten().filter(|(name, _)| secret_channels.contains(name));
        secret.for_each(|(_, value)| *value = HIDDEN.into());
    }
    if let Some(answer) = shown.pointer_mut("/command/resume").filter(|answer| !answer.is_null()) {
        *answer = HIDDEN.into();
    }
    shown
}

/// The values of secret channels, which are hidden wherever nodes have copied them to.
#[derive(Clone, Default)]
pub(crate) struct Secrets(SecretValues);

impl Secrets {
    /// Returns those that a run has, now and later, those that its request writes among them.
    pub(crate) fn of_run(run: SecretValues, graph: &AnyGraph, request: &Value) -> Self {
        let names = secret_channels(graph);
        for place in ["/input", "/command/update"] {
            let fields = request.pointer(place);
            run.add(names.iter().filter_map(|name| fields?.get(name)).cloned());
        }
        Self(run)
    }

    /// Adds those of others.
    pub(crate) fn add_all(&self, others: &Self) {
        self.0.add_all(&others.0);
    }

    /// Adds those of a state of a subgraph, of the states in it, and of what its tasks have written.
    pub(super) fn add_past_nested(&self, nested: &NestedSnapshot) {
        self.add_nested_state(nested);
        self.add_results(&nested.tasks);
    }

    /// Adds those of what tasks have written.
    pub(super) fn add_results(&self, tasks: &[TaskSnapshot]) {
        tasks.iter().filter_map(|task| task.result.as_ref()).for_each(|writes| self.0.add_state(writes));
    }

    /// Adds those of a state, and of the states of subgraphs that were read with it.
    pub(crate) fn add_deep(&self, graph: &AnyGraph, snapshot: &StateSnapshot<AnyState>) {
        self.add_state(graph, &snapshot.values);
        self.add_nested(&snapshot.tasks);
    }

    /// Adds those of a subgraph's state, and of the states in it.
    pub(crate) fn add_nested_state(&self, nested: &NestedSnapshot) {
        self.0.add_state(&nested.values);
        self.add_nested(&nested.tasks);
    }

    fn add_nested(&self, tasks: &[TaskSnapshot]) {
        tasks.iter().filter_map(|task| task.state.as_ref()).for_each(|nested| self.add_nested_state(nested));
    }

    /// Adds those of a state.
    pub(crate) fn add_state(&self, graph: &AnyGraph, state: &AnyState) {
        let schema = graph.schema();
        let secret = graph.channels().iter().enumerate().filter(|(_, channel)| channel.is_secret());
        let values = secret.filter(|(at, _)| state.is_set(schema, *at));
        self.0.add(values.filter_map(|(at, _)| state.encode_channel(schema, at, Serializer).ok()));
    }

    /// Adds those of the states and writes that an event shows.
    pub(crate) fn add_event(&self, event: &Event) {
        match &event.kind {
            EventKind::Values { values: view, .. }
            | EventKind::Update { writes: view, .. }
            | EventKind::TaskStart { input: view, .. } => self.0.add_state(view),
            EventKind::Checkpoint(made) => self.0.add_state(&made.values),
            _ => {}
        }
    }

    /// Hides them in a text.
    pub(crate) fn hide_in_text(&self, text: &mut String) {
        self.0.hide_in_text(text);
    }

    /// Hides them in a value. Names of fields stay: a client finds the others by them.
    pub(crate) fn hide(&self, value: &mut Value) {
        self.0.hide(value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_shown_without_writes_of_secret_channels() {
        let request = json!({ "input": { "token": "t-1", "n": 1 }, "command": { "update": { "token": ["t-2"] }, "resume": "t-3" } });
        let shown = visible_request(&request, &["token".to_owned()]);
        assert_eq!(shown["input"], json!({ "token": HIDDEN, "n": 1 }));
        assert_eq!(shown["command"], json!({ "update": { "token": HIDDEN }, "resume": HIDDEN }));
        assert_eq!(visible_request(&request, &[]), request);
    }
}
