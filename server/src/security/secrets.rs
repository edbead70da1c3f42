//! Secret channels: their values in what clients have sent, and where nodes have copied them to. Must not know routes.

use serde_json::Value;
use serde_json::value::Serializer;
use superstep::graph::{AnyGraph, AnyState, State};

/// The replacement of a secret.
const HIDDEN: &str = "[secret]";
/// The shortest text that is looked for inside of others, in bytes; a shorter one is hidden only if it is the whole text.
const PART: usize = 6;

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

/// The values of secret channels, as texts that are hidden wherever nodes have copied them to.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Returns those that a request writes.
    pub(crate) fn of_request(graph: &AnyGraph, request: &Value) -> Self {
        let (names, mut secrets) = (secret_channels(graph), Self::default());
        for place in ["/input", "/command/update"] {
            let values = names.iter().filter_map(|name| request.pointer(place)?.get(name));
            values.for_each(|value| secrets.add(value));
        }
        secrets.sorted()
    }

    /// Returns those of a state.
    pub(crate) fn of_state(graph: &AnyGraph, state: &AnyState) -> Self {
        let mut secrets = Self::default();
        for (at, _) in graph.channels().iter().enumerate().filter(|(_, channel)| channel.is_secret()) {
            if state.is_set(graph.schema(), at)
                && let Ok(value) = state.encode_channel(graph.schema(), at, Serializer)
            {
                secrets.add(&value);
            }
        }
        secrets.sorted()
    }

    /// Returns both these and others.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self.sorted()
    }

    /// Returns them with the longest first: one may contain another.
    fn sorted(mut self) -> Self {
        self.0.sort_by_key(|text| std::cmp::Reverse(text.len()));
        self
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if !text.is_empty() => self.0.push(text.clone()),
            Value::Number(number) if number.to_string().len() >= PART => self.0.push(number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Hides them in a text.
    pub(crate) fn hide_in_text(&self, text: &mut String) {
        for secret in &self.0 {
            if text == secret || (secret.len() >= PART && text.contains(secret.as_str())) {
                *text = text.replace(secret.as_str(), HIDDEN);
            }
        }
    }

    /// Hides them in a value. Names of fields stay: a client finds the others by them.
    pub(crate) fn hide(&self, value: &mut Value) {
        if self.0.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.hide_in_text(text),
            Value::Number(number) if self.0.contains(&number.to_string()) => *value = HIDDEN.into(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.hide(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
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

    #[test]
    fn copies_of_secrets_are_hidden_and_short_ones_only_where_they_are_the_whole_text() {
        let mut secrets = Secrets::default();
        secrets.add(&json!({ "a": "correct horse", "b": ["ab", 1_234_567], "c": true }));
        let mut value = json!([{ "ab": "a correct horse" }, "ab", "cabin", 1_234_567, 7, true]);
        secrets.sorted().hide(&mut value);
        assert_eq!(value, json!([{ "ab": "a [secret]" }, "[secret]", "cabin", "[secret]", 7, true]));
    }
}
