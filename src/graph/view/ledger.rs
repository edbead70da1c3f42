//! The places of a task's journal, and the values of secret channels that are hidden in it: bodies may have passed them to
//! effects.

use std::sync::{Arc, Weak};

use serde_json::Value;

use super::event::{place, task_id};
use super::task_journal::{JournalKind, JournalQuestion, TaskJournal};
use crate::checkpoint::{CheckpointId, Checkpointer, ThreadId};
use crate::graph::records::JournalPath;

/// The location of a task's journal.
#[derive(Clone)]
pub(crate) struct Ledger {
    /// A snapshot keeps no store open.
    pub store: Weak<dyn Checkpointer>,
    pub thread: ThreadId,
    pub birth: u64,
    pub task: LedgerTask,
    /// The checkpoint and key of the root graph's task that it is in.
    pub root: Option<(CheckpointId, u32)>,
    /// The paths of its entries, and of its error handler's, below the root graph's task.
    pub prefixes: Vec<JournalPath>,
    pub questions: Vec<JournalQuestion>,
    pub secrets: Secrets,
}

/// The task that a journal belongs to.
#[derive(Clone, Default)]
pub(crate) struct LedgerTask {
    /// The checkpoint that planned the task, and its key as it is stored.
    pub own: (CheckpointId, u32),
    /// The node; empty if the graph no longer has it.
    pub node: Arc<str>,
    /// The version of the graph's control when it was planned.
    pub version: u64,
    /// The name in journals: the node's first one.
    pub name: Arc<str>,
    /// The index of its send.
    pub sent: Option<u32>,
}

impl LedgerTask {
    /// Returns the task as a namespace names it.
    pub(crate) fn place(&self) -> String {
        place(&self.node, &task_id(self.own.0, self.own.1))
    }
}

/// The activation of a subgraph that a snapshot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activation {
    /// The number of the call, from the first of the last attempt.
    pub call: u32,
    pub by_handler: bool,
    /// The version of the subgraph's control at which it began.
    pub base: u64,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("own", &self.task.own).field("root", &self.root).finish_non_exhaustive()
    }
}

/// The replacement of a secret.
const HIDDEN: &str = "[secret]";

/// The shortest text that is looked for inside of others; a shorter one is hidden only if it is the whole text.
const PART: usize = 6;

pub(crate) type Read = Arc<dyn Fn() -> Vec<Value> + Send + Sync>;

/// The values of a task's secret channels, read when they are needed.
#[derive(Clone, Default)]
pub(crate) struct Secrets(pub Vec<Read>);

impl Secrets {
    pub(crate) fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().cloned());
    }

    /// Hides them in a journal.
    pub(crate) fn hide(&self, journal: &mut TaskJournal) {
        let mut hidden = HiddenTexts::default();
        hidden.add_all(self.0.iter().flat_map(|read| read()));
        if hidden.0.is_empty() {
            return;
        }
        for entry in &mut journal.entries {
            match &mut entry.kind {
                JournalKind::Effect(effect) => {
                    hidden.in_value(&mut effect.arguments);
                    match &mut effect.result {
                        Ok(result) => hidden.in_value(result),
                        Err(why) => hidden.in_text(why),
                    }
                    effect.messages.iter_mut().for_each(|message| hidden.in_value(&mut message.value));
                }
                JournalKind::Value(value) | JournalKind::Signal(value) => hidden.in_value(value),
                JournalKind::Id(id) => hidden.in_text(id),
                JournalKind::Time(_) | JournalKind::Random(_) | JournalKind::Sleep(_) => {}
            }
            hidden.in_text(&mut entry.key);
        }
        for question in &mut journal.questions {
            hidden.in_value(&mut question.payload);
            question.answer.iter_mut().for_each(|answer| hidden.in_value(&mut answer.value));
        }
        journal.messages.iter_mut().for_each(|message| hidden.in_value(&mut message.value));
    }
}

/// Texts to hide, and numbers by their digits.
#[derive(Clone, Default)]
pub(crate) struct HiddenTexts(Vec<String>);

impl HiddenTexts {
    /// Adds the texts of more values, each once; the longest come first, as one may contain another.
    pub(crate) fn add_all(&mut self, values: impl Iterator<Item = Value>) {
        let known = self.0.len();
        values.for_each(|value| self.add(&value));
        self.sort_after(known);
    }

    /// Adds other texts.
    pub(crate) fn add_texts(&mut self, others: Self) {
        let known = self.0.len();
        others.0.into_iter().for_each(|text| self.push(text));
        self.sort_after(known);
    }

    fn sort_after(&mut self, known: usize) {
        if self.0.len() > known {
            self.0.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        }
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if !text.is_empty() => self.add_text(text),
            Value::Number(number) if number.to_string().len() >= PART => self.push(number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Adds the text as it is written in JSON that was cut to a limit, too.
    fn add_text(&mut self, text: &str) {
        let quoted = Value::from(text).to_string();
        let escaped = &quoted[1..quoted.len() - 1];
        if escaped != text {
            self.push(escaped.to_owned());
        }
        self.push(text.to_owned());
    }

    fn push(&mut self, text: String) {
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    /// Hides them in a text.
    pub(crate) fn in_text(&self, text: &mut String) {
        for secret in &self.0 {
            if text == secret || (secret.len() >= PART && text.contains(secret.as_str())) {
                *text = text.replace(secret.as_str(), HIDDEN);
            }
        }
    }

    /// Hides them in a value; reads none of it if there are no secrets.
    pub(crate) fn hide(&self, value: &mut Value) {
        if !self.0.is_empty() {
            self.in_value(value);
        }
    }

    fn in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.in_text(text),
            Value::Number(number) if self.0.contains(&number.to_string()) => *value = HIDDEN.into(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.in_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.in_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
