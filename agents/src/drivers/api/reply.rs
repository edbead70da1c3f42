//! Assembles a model's reply from streamed chunks. Pure.

use serde_json::{Map, Value};

use super::key::KeyFilter;
use super::surrogate::Joiner;
use super::wire::{CallDelta, Choice, Chunk, Function, WireCall, text_of};

/// Maximum size of a reply in bytes of text and arguments.
const LARGEST: usize = 8 * 1024 * 1024;
const MOST_CALLS: usize = 256;

/// A reply, complete or in progress.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<WireCall>,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Value>,
    pub(super) thought: usize,
    indexes: Vec<Option<u64>>,
    text_halves: Joiner,
    thinking_halves: Joiner,
}

/// Text added by a chunk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReplyPiece {
    pub(super) text: String,
    pub(super) thinking: String,
}

/// Error: the reply exceeds the maximum size.
#[derive(Debug)]
pub(super) struct TooLarge;

impl Reply {
    /// Adds a chunk. Only the first choice is used.
    pub(super) fn take(&mut self, chunk: Chunk) -> Result<ReplyPiece, TooLarge> {
        if let Some(usage) = chunk.usage.filter(Value::is_object) {
            self.usage = Some(usage);
        }
        let piece = chunk.choices.and_then(|choices| choices.into_iter().next()).map(|choice| self.choice(choice));
        let size = self.size();
        match size > LARGEST || self.calls.len() > MOST_CALLS {
            true => Err(TooLarge),
            false => Ok(piece.unwrap_or_default()),
        }
    }

    /// Returns the number of bytes written by the model.
    pub(super) fn size(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.function.name.len() + call.function.arguments.len());
        self.text.len() + self.thought + calls.sum::<usize>()
    }

    fn choice(&mut self, choice: Choice) -> ReplyPiece {
        if let Some(finish) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(finish);
        }
        let is_whole = choice.delta.is_none();
        let delta = choice.delta.or(choice.message).unwrap_or_default();
        let text = text_of(&delta.content) + &text_of(&delta.refusal);
        // Servers that set both fields put the same text in both.
        let thinking = Some(text_of(&delta.reasoning_content)).filter(|text| !text.is_empty());
        let thinking = thinking.unwrap_or_else(|| text_of(&delta.reasoning));
        let (text, thinking) = (self.text_halves.push(text), self.thinking_halves.push(thinking));
        self.text.push_str(&text);
        self.thought += thinking.len();
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call, is_whole);
        }
        ReplyPiece { text, thinking }
    }

    fn call(&mut self, delta: CallDelta, is_whole: bool) {
        let function = delta.function.unwrap_or_default();
        let (name, arguments) = (function.name.unwrap_or_default(), arguments_of(&function.arguments));
        let id = delta.id.unwrap_or_default();
        let nth = match is_whole {
            true => self.begin(delta.index),
            false => self.slot(delta.index, &id, &name, &arguments),
        };
        let call = &mut self.calls[nth];
        if call.id.is_empty() {
            call.id = id;
        }
        // Some servers repeat the name in every chunk.
        if call.function.name != name {
            call.function.name.push_str(&name);
        }
        call.function.arguments.push_str(&arguments);
        call.more.extend(delta.more.into_iter().filter(|(field, _)| field != "type"));
    }

    /// Returns the index of the call a chunk belongs to: the one with its index and id as far as they are given, else
    /// the last, else a new one.
    fn slot(&mut self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> usize {
        let fits = |nth: &usize| {
            let call = &self.calls[*nth];
            let same_index = index.is_none_or(|index| self.indexes[*nth] == Some(index));
            let same_id = id.is_empty() || call.id.is_empty() || call.id == id;
            let begins_anew = id.is_empty() && !name.is_empty() && !arguments.is_empty() && is_whole(&call.function);
            same_index && same_id && !begins_anew
        };
        let last = |nth: &usize| index.is_some() || !id.is_empty() || *nth + 1 == self.calls.len();
        if let Some(nth) = (0..self.calls.len()).rev().filter(last).find(fits) {
            return nth;
        }
        self.begin(index)
    }

    fn begin(&mut self, index: Option<u64>) -> usize {
        let function = Function::default();
        self.calls.push(WireCall { id: String::new(), kind: "function".to_owned(), function, more: Map::new() });
        self.indexes.push(index);
        self.calls.len() - 1
    }

    /// Removes keys from the completed reply.
    pub(super) fn hide(&mut self, keys: &KeyFilter) {
        keys.from(&mut self.text);
        for call in &mut self.calls {
            keys.from(&mut call.function.name);
            keys.from(&mut call.function.arguments);
        }
    }

    /// Completes the reply; calls without ids get generated ones.
    pub(super) fn close(&mut self, prefix: &str) {
        self.text.extend(self.text_halves.finish());
        for Function { arguments, .. } in self.calls.iter_mut().map(|call| &mut call.function) {
            let mut halves = Joiner::default();
            *arguments = halves.push(std::mem::take(arguments));
            arguments.extend(halves.finish());
        }
        for (nth, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = format!("{prefix}_{nth}");
        }
    }
}

/// Returns arguments in either server format: a piece of JSON text, or the value itself.
fn arguments_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(piece) => piece.clone(),
        whole => whole.to_string(),
    }
}

fn is_whole(function: &Function) -> bool {
    !function.arguments.is_empty() && serde_json::from_str::<serde::de::IgnoredAny>(&function.arguments).is_ok()
}
