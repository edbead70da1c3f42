//! Assembles a model's reply from streamed chunks, with its usage: reported by the server, or estimated. Pure.
//!
//! Servers that cut text in UTF-16 units send `"\ud83c"` in one chunk and `"\udf0a"` in the next, which is not valid JSON:
//! such halves of a surrogate pair are kept until they meet.

use std::time::Duration;

use serde_json::{Map, Value};

use super::config::KeyFilter;
use super::wire::{CallDelta, Choice, Chunk, Function, WireCall, text_of};
use crate::drivers::{Price, Usage};

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

/// Bytes of English or code per token, roughly.
const BYTES: u64 = 4;

/// Returns the usage of a reply to a request of this size.
pub(super) fn usage_of(reply: &Reply, body_size: usize, took: Duration, price: Option<Price>) -> Usage {
    let used = reply.usage.as_ref().and_then(reported_usage).unwrap_or_else(|| estimate_usage(body_size, reply.size()));
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    Usage { ms, ..with_cost(used, price) }
}

/// Reads the usage that a server reports; `None` without input and output tokens.
fn reported_usage(usage: &Value) -> Option<Usage> {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let (read, output) = (number("/prompt_tokens")?, number("/completion_tokens")?);
    let cached = number("/prompt_tokens_details/cached_tokens").or_else(|| number("/prompt_cache_hit_tokens"));
    let cache_read = cached.unwrap_or(0).min(read);
    Some(Usage { input: read - cache_read, output, cache_read, cost: cost(usage), requests: 1, ..Usage::default() })
}

/// Estimates the usage from byte counts.
fn estimate_usage(read: usize, written: usize) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES);
    Usage { input: tokens(read), output: tokens(written), requests: 1, estimated: true, ..Usage::default() }
}

/// Adds the cost by price, if none was reported.
fn with_cost(usage: Usage, price: Option<Price>) -> Usage {
    let Some(price) = price.filter(|_| usage.cost == 0) else { return usage };
    Usage { cost: price.of(&usage), estimated: true, ..usage }
}

/// Reads the cost in dollars that some servers report.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held between 0 and a billion")]
fn cost(usage: &Value) -> u64 {
    let dollars = usage.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    (dollars * 1e6).clamp(0.0, 1e15) as u64
}

/// Until they meet, halves are represented by unused characters at the end of the last private plane.
const MARKS: u32 = 0x0010_f000;
/// Replacement for a half without its counterpart.
const LOST: char = '\u{fffd}';

/// Replaces surrogate halves in JSON by marks; `None` if there are none.
pub(super) fn replace_surrogates(json: &str) -> Option<String> {
    let (mut out, mut rest, mut found) = (String::with_capacity(json.len()), json, false);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (escape(rest), escape(rest.get(6..).unwrap_or_default())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(half @ 0xd800..=0xdfff), _) => {
                out.extend(char::from_u32(MARKS + half - 0xd800));
                (rest, found) = (&rest[6..], true);
                continue;
            }
            // A backslash and the character it escapes.
            _ => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    found.then_some(out)
}

/// Parses a `\uXXXX` at the start of the text.
fn escape(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// Joins halves in streamed text.
#[derive(Debug, Default)]
struct Joiner(Option<u32>);

impl Joiner {
    /// Adds a piece; a first half at its end is held back.
    fn push(&mut self, piece: String) -> String {
        if self.0.is_none() && !piece.chars().any(|letter| half(letter).is_some()) {
            return piece;
        }
        let mut out = String::with_capacity(piece.len() + 4);
        for letter in piece.chars() {
            match (self.0.take(), half(letter)) {
                (Some(first), Some(second @ 0xdc00..)) => {
                    let whole = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    out.push(char::from_u32(whole).unwrap_or(LOST));
                }
                (before, found) => {
                    out.extend(before.map(|_| LOST));
                    match found {
                        None => out.push(letter),
                        Some(0xdc00..) => out.push(LOST),
                        Some(first) => self.0 = Some(first),
                    }
                }
            }
        }
        out
    }

    /// Returns the replacement for a half that remains.
    fn finish(&mut self) -> Option<char> {
        self.0.take().map(|_| LOST)
    }
}

fn half(letter: char) -> Option<u32> {
    let address = u32::from(letter).checked_sub(MARKS)?;
    (address < 0x800).then_some(0xd800 + address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::one_after_the_other(&[r#"a \ud83c"#, r#"\udf0a b"#], "a 🌊 b")]
    #[case::whole(&[r#"\ud83c\udf0a"#, r#"\u00fc\n"#], "🌊ü\n")]
    #[case::no_escape(&[r#"\\ud83c"#], "\\ud83c")]
    #[case::lost(&[r#"\ud83c"#, "x", r#"\udf0a"#, r#"\ud83c"#], "\u{fffd}x\u{fffd}\u{fffd}")]
    #[case::twice(&[r#"\ud83c"#, r#"\udf0a\ud83c"#, r#"\udf0a"#], "🌊🌊")]
    fn halves_meet(#[case] pieces: &[&str], #[case] text: &str) {
        let mut joiner = Joiner::default();
        let mut joined = String::new();
        for piece in pieces {
            let json = format!("\"{piece}\"");
            let read: String = serde_json::from_str(&replace_surrogates(&json).unwrap_or(json)).expect("JSON");
            joined.push_str(&joiner.push(read));
        }
        joined.extend(joiner.finish());
        assert_eq!(joined, text);
    }
}
