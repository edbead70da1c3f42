//! The work of coding agents as people know it: tasks with their titles, commits, the cost so far. Pure.

use std::collections::HashSet;

use serde_json::Value;

use super::agent::dollars;
use crate::app::text::clean;

/// The tasks that were named, and what all turns have cost.
#[derive(Debug, Default)]
pub(super) struct Work {
    named: HashSet<(String, u64)>,
    /// Millionths of a dollar.
    cost: u64,
}

impl Work {
    /// Returns the work of a run whose thread has cost this so far.
    pub(super) fn after(cost: u64) -> Self {
        Self { cost, ..Self::default() }
    }

    /// Returns the lines for a message of a node: the heading of a task, or a commit with the output of its hooks.
    pub(super) fn on_message(&mut self, message: &Value) -> Vec<String> {
        let Some((kind, value)) = message.as_object().and_then(|fields| fields.iter().next()) else { return vec![] };
        match kind.as_str() {
            "turn" => self.heading(value).into_iter().collect(),
            "finished" => {
                self.cost = self.cost.saturating_add(value["usage"]["cost"].as_u64().unwrap_or_default());
                vec![]
            }
            "commit" => self.commit(value),
            _ => vec![],
        }
    }

    /// Returns `== task 1 (1 of 2), attempt 1: Print the table` for the first turn of an attempt.
    fn heading(&mut self, turn: &Value) -> Option<String> {
        let task = turn["task"].as_str().filter(|task| !task.is_empty())?;
        let title = turn["title"].as_str().filter(|title| !title.is_empty())?;
        let attempt = turn["attempt"].as_u64().unwrap_or_default();
        if turn["phase"].is_number() || !self.named.insert((task.to_owned(), attempt)) {
            return None;
        }
        let place = match (turn["position"].as_u64(), turn["total"].as_u64()) {
            (Some(position), Some(total)) => format!(" ({position} of {total})"),
            _ => String::new(),
        };
        Some(format!("== task {}{place}, attempt {attempt}: {}", clean(task), clean(title)))
    }

    fn commit(&self, commit: &Value) -> Vec<String> {
        let text = |key: &str| commit[key].as_str().unwrap_or_default();
        let id: String = text("id").chars().take(9).collect();
        let subject = text("message").lines().next().unwrap_or_default();
        let cost = if self.cost > 0 { format!("; {} so far", dollars(self.cost)) } else { String::new() };
        let output = text("output").lines().map(|line| format!("  | {}", clean(line)).trim_end().to_owned());
        let head = format!("commit {} {}{cost}", clean(&id), clean(subject));
        std::iter::once(head).chain(output).collect()
    }
}
