//! `cargo --message-format=json` and `rustc --error-format=json`.

use std::borrow::Cow;

use serde::Deserialize;

use super::bare::is_summary;
use super::block::Block;
use super::diagnostic::Diagnostic;
use super::rustc::with_label;
use crate::findings::evidence::Lines;
use crate::findings::severity::Severity;

/// A line of cargo's output.
#[derive(Deserialize)]
struct CargoLine<'a> {
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

/// A diagnostic of rustc.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    code: Option<Code<'a>>,
    #[serde(borrow)]
    spans: Vec<Span<'a>>,
}

#[derive(Deserialize)]
struct Code<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
}

/// A place in the source.
#[derive(Deserialize)]
struct Span<'a> {
    #[serde(borrow)]
    file_name: Cow<'a, str>,
    line_start: u32,
    line_end: u32,
    is_primary: bool,
    #[serde(borrow)]
    label: Option<Cow<'a, str>>,
    #[serde(borrow)]
    expansion: Option<Box<Expansion<'a>>>,
}

/// The use of a macro.
#[derive(Deserialize)]
struct Expansion<'a> {
    #[serde(borrow)]
    span: Span<'a>,
}

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first();
    let message = if line.starts_with("{\"$message_type\"") {
        serde_json::from_str(line).ok()
    } else if line.starts_with("{\"reason\":\"compiler-message\"") {
        cargo_line(line)
    } else {
        return usize::from(line.starts_with("{\"reason\":\""));
    };
    message.map_or(0, |message| push(block, message, found))
}

fn cargo_line(line: &str) -> Option<Message<'_>> {
    serde_json::from_str::<CargoLine<'_>>(line).ok()?.message
}

fn push<'a>(block: &Block<'a, '_>, message: Message<'a>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let severity = match message.level.as_ref() {
        level if level.starts_with("error") => Severity::Error,
        "warning" => Severity::Warning,
        _ => return 1,
    };
    if !is_summary(&message.message) {
        found.push(diagnostic(block, message, severity));
    }
    1
}

fn diagnostic<'a>(block: &Block<'a, '_>, message: Message<'a>, severity: Severity) -> Diagnostic<'a> {
    let (code, text) = (message.code.map(|code| code.code), message.message);
    let Some(primary) = message.spans.into_iter().find(|span| span.is_primary) else {
        return Diagnostic { code, ..Diagnostic::error(text).of(severity) };
    };
    let message = match primary.label.as_deref().filter(|label| !label.is_empty()) {
        Some(label) => Cow::Owned(with_label(&[&text, label])),
        None => text,
    };
    let span = own(block, primary);
    let lines = Some(Lines { first: span.line_start.max(1), last: span.line_end.max(span.line_start).max(1) });
    Diagnostic { code, file: Some(span.file_name), lines, ..Diagnostic::error(message).of(severity) }
}

/// Returns the place, or that of the macro call if it is in another crate's macro.
fn own<'a>(block: &Block<'a, '_>, mut span: Span<'a>) -> Span<'a> {
    while !block.is_own(&span.file_name) {
        match span.expansion.take() {
            Some(expansion) => span = expansion.span,
            None => break,
        }
    }
    span
}
