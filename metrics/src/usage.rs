//! Tokens and cost, as the messages of a run report them: those of agents (`{"turn": {role, model}}`, `{"usage": …}`,
//! `{"finished": {"usage": …}}`), and those of models in LangChain's form (`usage_metadata`). Must not know whose run it is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

/// The most pairs of role and model that are counted apart; a model names itself.
const SENDERS: usize = 100;

/// Tokens by kind, and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    /// Millionths of a dollar.
    pub(super) cost: u64,
}

impl Usage {
    /// Returns the usage that an agent reports.
    fn of_agent(value: &Value) -> Self {
        let number = |key: &str| value[key].as_u64().unwrap_or_default();
        Self {
            input: number("input"),
            output: number("output"),
            cache_read: number("cache_read"),
            cache_write: number("cache_write"),
            cost: number("cost"),
        }
    }

    /// Returns the usage of a message in LangChain's form, which counts cached tokens as input.
    fn of_message(value: &Value) -> Self {
        let number = |key: &str| value.pointer(key).and_then(Value::as_u64).unwrap_or_default();
        let cache_read = number("/input_token_details/cache_read");
        let cache_write = number("/input_token_details/cache_creation");
        let input = number("/input_tokens").saturating_sub(cache_read).saturating_sub(cache_write);
        Self { input, output: number("/output_tokens"), cache_read, cache_write, cost: 0 }
    }

    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
            cost: join(self.cost, other.cost),
        }
    }

    /// Returns the tokens of each kind, with its name.
    pub(super) fn tokens(&self) -> [(&'static str, u64); 4] {
        let Self { input, output, cache_read, cache_write, .. } = *self;
        [("input", input), ("output", output), ("cache_read", cache_read), ("cache_write", cache_write)]
    }
}

/// The tokens of one call of a model, or of a part of an agent's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUse {
    /// Name of the model; empty if it is not known.
    pub model: String,
    /// Tokens that the model was given, those that were cached included.
    pub input_tokens: u64,
    /// Tokens that the model has written.
    pub output_tokens: u64,
}

impl ModelUse {
    pub(super) fn new(name: &ModelName, usage: Usage) -> Self {
        let input_tokens = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        Self { model: name.model.clone(), input_tokens, output_tokens: usage.output }
    }
}

/// The role of an agent and its model; empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModelName {
    pub(super) role: String,
    pub(super) model: String,
}

/// The usage of the models of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct UsageTotals(pub(super) BTreeMap<ModelName, Usage>);

impl UsageTotals {
    pub(super) fn add(&mut self, name: ModelName, usage: Usage) {
        let is_known = self.0.contains_key(&name) || self.0.len() < SENDERS;
        let name = if is_known { name } else { ModelName { role: "other".into(), model: "other".into() } };
        let total = self.0.entry(name).or_default();
        *total = total.with(usage, u64::saturating_add);
    }
}

/// The turns of agents in one run that have not ended, by their task.
#[derive(Debug, Default)]
pub(super) struct Turns(HashMap<Arc<[String]>, Turn>);

#[derive(Debug, Default)]
struct Turn {
    name: ModelName,
    /// The usage that is counted already.
    counted: Usage,
}

impl Turns {
    /// Returns what a message of a task adds; `None` for one without a usage.
    pub(super) fn usage(&mut self, task: &Arc<[String]>, message: &Value) -> Option<(ModelName, Usage)> {
        let message = message.as_object()?;
        if let Some(turn) = message.get("turn") {
            let text = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
            let name = ModelName { role: text("role"), model: text("model") };
            self.0.insert(Arc::clone(task), Turn { name, counted: Usage::default() });
            return None;
        }
        if let Some(usage) = message.get("usage").filter(|usage| usage.is_object()) {
            return self.difference(task, Usage::of_agent(usage));
        }
        if let Some(usage) = message.get("finished").map(|finished| &finished["usage"]) {
            let difference = self.difference(task, Usage::of_agent(usage));
            self.0.remove(task);
            return difference;
        }
        let usage = message.get("usage_metadata").filter(|usage| usage.is_object())?;
        let model = message.get("response_metadata").and_then(|about| about["model_name"].as_str());
        let name = ModelName { role: String::new(), model: model.unwrap_or_default().to_owned() };
        Some((name, Usage::of_message(usage)))
    }

    /// Returns what a turn's usage so far adds to what is counted.
    fn difference(&mut self, task: &Arc<[String]>, usage: Usage) -> Option<(ModelName, Usage)> {
        let turn = self.0.entry(Arc::clone(task)).or_default();
        let added = usage.with(turn.counted, u64::saturating_sub);
        turn.counted = turn.counted.with(usage, u64::max);
        (added != Usage::default()).then(|| (turn.name.clone(), added))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_turn_is_counted_once_and_a_message_by_its_model() {
        let (mut turns, mut totals) = (Turns::default(), UsageTotals::default());
        let tasks: [Arc<[String]>; 2] = [Arc::new(["a:1".to_owned()]), Arc::new(["b:2".to_owned()])];
        let messages = [
            (0, json!({ "turn": { "role": "developer", "model": "m1", "prompt": "secret" } })),
            (0, json!({ "usage": { "input": 100, "output": 5, "cost": 10 } })),
            (0, json!({ "usage": { "input": 150, "output": 9, "cost": 30 } })),
            (0, json!({ "finished": { "usage": { "input": 150, "output": 10, "cache_read": 7, "cost": 40 } } })),
            (0, json!({ "usage": { "input": 1 } })),
            (1, json!({ "content": "hi", "usage_metadata": null })),
            (1, json!("piece")),
            (
                1,
                json!({
                    "usage_metadata": { "input_tokens": 20, "output_tokens": 3, "input_token_details": { "cache_read": 4 } },
                    "response_metadata": { "model_name": "m2" },
                }),
            ),
        ];
        for (task, message) in messages {
            turns.usage(&tasks[task], &message).into_iter().for_each(|(name, usage)| totals.add(name, usage));
        }
        let found: Vec<_> = totals.0.iter().map(|(name, usage)| (&*name.role, &*name.model, *usage)).collect();
        let usage = Usage::default();
        let expected = [
            ("", "", Usage { input: 1, ..usage }),
            ("", "m2", Usage { input: 16, output: 3, cache_read: 4, ..usage }),
            ("developer", "m1", Usage { input: 150, output: 10, cache_read: 7, cost: 40, ..usage }),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn models_that_invent_names_are_counted_together() {
        let mut totals = UsageTotals::default();
        for nth in 0..1000 {
            let name = ModelName { role: String::new(), model: nth.to_string() };
            totals.add(name, Usage { input: 1, ..Usage::default() });
        }
        assert_eq!((totals.0.len(), totals.0.values().map(|usage| usage.input).sum::<u64>()), (SENDERS + 1, 1000));
    }
}
