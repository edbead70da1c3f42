//! Reports of tasks in their JSON: `label`, `summary`, `cost` and `tokens`. Knows no route.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use superstep::checkpoint::spending::{Amount, TaskNote};
use utoipa::ToSchema;

/// Tokens by kind.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = Tokens)]
pub(crate) struct TokensJson {
    /// Tokens read, without those from a cache.
    input: u64,
    /// Tokens written.
    output: u64,
    /// Tokens read from a cache.
    cache_read: u64,
    /// Tokens written to a cache.
    cache_write: u64,
}

impl TokensJson {
    pub(crate) fn of(amount: &Amount) -> Self {
        let Amount { input, output, cache_read, cache_write, .. } = *amount;
        Self { input, output, cache_read, cache_write }
    }
}

/// Sets `cost` and `tokens` of an object; null if nothing is known to have been spent.
pub(crate) fn set_amount(shown: &mut Value, amount: Option<Amount>) {
    let amount = amount.filter(|amount| *amount != Amount::default());
    shown["cost"] = json!(amount.map(|amount| amount.cost));
    shown["tokens"] = json!(amount.as_ref().map(TokensJson::of));
}

/// Adds what a task has reported to its JSON.
pub(crate) fn add_note(shown: &mut Value, note: Option<&TaskNote>) {
    shown["label"] = json!(note.and_then(|note| note.label.as_deref()));
    shown["summary"] = json!(note.and_then(|note| note.summary.as_deref()));
    set_amount(shown, note.map(TaskNote::total));
}

/// Adds what tasks have reported to each of them in a list; `id`: the field that has the id of a task.
pub(crate) fn add_notes(tasks: &mut Value, id: &str, notes: &BTreeMap<String, TaskNote>) {
    for task in tasks.as_array_mut().into_iter().flatten() {
        let note = task[id].as_str().and_then(|id| notes.get(id));
        add_note(task, note);
    }
}
