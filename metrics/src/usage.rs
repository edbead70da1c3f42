//! Tokens and cost, as the messages of a run report them: those of agents (`{"turn": {role, model}}`, `{"usage": …}`,
//! `{"finished": {"usage": …}}`), and those of models in LangChain's form (`usage_metadata`). Must not know whose run it is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use superstep::checkpoint::spending::Amount;

/// The most pairs of role and model that are counted apart; a model names itself.
const SENDERS: usize = 100;

/// Returns the usage that an agent reports.
fn of_agent(value: &Value) -> Amount {
    let number = |key: &str| value[key].as_u64().unwrap_or_default();
    Amount {
        input: number("input"),
        output: number("output"),
        cache_read: number("cache_read"),
        cache_write: number("cache_write"),
        cost: number("cost"),
        ..Amount::default()
    }
}

/// Returns the tokens of each kind, with its name.
pub(super) fn tokens_by_kind(amount: &Amount) -> [(&'static str, u64); 4] {
    let Amount { input, output, cache_read, cache_write, .. } = *amount;
    [("input", input), ("output", output), ("cache_read", cache_read), ("cache_write", cache_write)]
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
    pub(super) fn new(name: &ModelName, usage: Amount) -> Self {
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
pub(super) struct UsageTotals(pub(super) BTreeMap<ModelName, Amount>);

impl UsageTotals {
    pub(super) fn add(&mut self, name: ModelName, usage: Amount) {
        let is_known = self.0.contains_key(&name) || self.0.len() < SENDERS;
        let name = if is_known { name } else { ModelName { role: "other".into(), model: "other".into() } };
        let total = self.0.entry(name).or_default();
        *total = total.plus(usage);
    }
}

/// The turns of agents in one run that have not ended, by their task.
#[derive(Debug, Default)]
pub(super) struct Turns(HashMap<Arc<[String]>, Turn>);

#[derive(Debug, Default)]
struct Turn {
    name: ModelName,
    /// The usage that is counted already.
    counted: Amount,
}

impl Turns {
    /// Returns what a message of a task adds; `None` for one without a usage.
    pub(super) fn usage(&mut self, task: &Arc<[String]>, message: &Value) -> Option<(ModelName, Amount)> {
        if let Some(turn) = message.get("turn") {
            let text = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
            let name = ModelName { role: text("role"), model: text("model") };
            self.0.insert(Arc::clone(task), Turn { name, counted: Amount::default() });
            return None;
        }
        if let Some(usage) = message.get("usage").filter(|usage| usage.is_object()) {
            return self.difference(task, of_agent(usage));
        }
        if let Some(usage) = message.get("finished").map(|finished| &finished["usage"]) {
            let difference = self.difference(task, of_agent(usage));
            self.0.remove(task);
            return difference;
        }
        let usage = Amount::of_message(message)?;
        let model = message.get("response_metadata").and_then(|about| about["model_name"].as_str());
        let name = ModelName { role: String::new(), model: model.unwrap_or_default().to_owned() };
        Some((name, usage))
    }

    /// Returns what a turn's usage so far adds to what is counted.
    fn difference(&mut self, task: &Arc<[String]>, usage: Amount) -> Option<(ModelName, Amount)> {
        let turn = self.0.entry(Arc::clone(task)).or_default();
        let added = usage.minus(turn.counted);
        turn.counted = turn.counted.max(usage);
        (added != Amount::default()).then(|| (turn.name.clone(), added))
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
        let usage = Amount::default();
        let expected = [
            ("", "", Amount { input: 1, ..usage }),
            ("", "m2", Amount { input: 16, output: 3, cache_read: 4, ..usage }),
            ("developer", "m1", Amount { input: 150, output: 10, cache_read: 7, cost: 40, ..usage }),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn models_that_invent_names_are_counted_together() {
        let mut totals = UsageTotals::default();
        for nth in 0..1000 {
            let name = ModelName { role: String::new(), model: nth.to_string() };
            totals.add(name, Amount { input: 1, ..Amount::default() });
        }
        assert_eq!((totals.0.len(), totals.0.values().map(|usage| usage.input).sum::<u64>()), (SENDERS + 1, 1000));
    }
}
