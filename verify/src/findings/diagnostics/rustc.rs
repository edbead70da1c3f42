//! Diagnostics of rustc, cargo and clippy, as text with a header and an arrow below it, as ruff prints it too, and as JSON.

use std::borrow::Cow;

use serde::Deserialize;

use super::diagnostic::{Block, Diagnostic, Place};
use super::messages::{is_code, is_summary};
use super::place::{leading_place, severity};
use crate::findings::evidence::Lines;
use crate::findings::finding::Severity;

/// The maximum number of lines of a header.
const HEADER: usize = 8;
/// The maximum number of lines read of one diagnostic.
const LENGTH: usize = 200;

pub(super) fn read_text<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((severity, code, text)) = header(block.first()) else { return 0 };
    let Some(arrow) = arrow(block) else { return without_place(block, (severity, code, text), found) };
    let Some(place) = pointed_at(block.line(arrow)) else { return 0 };
    let rest = block.from(arrow);
    let read = arrow + 1 + rest.while_after(LENGTH, |line| !line.trim().is_empty());
    if severity != Severity::Info {
        let message = message(block, arrow, text);
        found.push(Diagnostic::error(message).of(severity).code(code).at(Some(place)));
    }
    read
}

type Header<'a> = (Severity, Option<&'a str>, &'a str);

/// Reads `error[E0308]: text`, `warning: text`, and `F401 text` of ruff.
fn header(line: &str) -> Option<Header<'_>> {
    let line = line.trim_start();
    match severity(line) {
        Some((severity, rest)) if rest.starts_with(['[', ':']) => {
            let (code, text) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((code, text)) => (Some(code), text),
                None => (None, rest),
            };
            Some((severity, code, text.strip_prefix(':')?.trim()))
        }
        _ => {
            let (code, text) = line.split_once(' ')?;
            is_code(code).then(|| (Severity::Error, Some(code), text.trim_start_matches("[*] ")))
        }
    }
}

/// Returns the number of the arrow's line after the header. A header may have several lines, none of them empty.
fn arrow(block: &Block<'_, '_>) -> Option<usize> {
    let header = block.while_after(HEADER, |line| !is_arrow(line) && !line.trim().is_empty() && header(line).is_none());
    is_arrow(block.line(header + 1)).then_some(header + 1)
}

fn is_arrow(line: &str) -> bool {
    line.trim_start().starts_with("--> ")
}

fn pointed_at(line: &str) -> Option<Place<'_>> {
    let place = line.trim_start().strip_prefix("--> ")?;
    leading_place(place).map(|located| located.place)
}

/// Reads a header of rustc without an arrow, as for linker errors; its code distinguishes it from other tools'.
fn without_place<'a>(block: &Block<'a, '_>, header: Header<'a>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let (severity, code, text) = header;
    let is_rustc = code.is_some_and(|code| !is_code(code) || block.first().contains('[')) && !text.is_empty();
    if !is_rustc || is_summary(text) || !block.first().trim_start().contains("]: ") {
        return 0;
    }
    found.push(Diagnostic::error(text).of(severity).code(code));
    1
}

/// Returns the header's text with the label of its place, which adds details that the header leaves out.
fn message<'a>(block: &Block<'a, '_>, arrow: usize, text: &'a str) -> Cow<'a, str> {
    let more: Vec<&str> = block.after(arrow - 1).map(str::trim).collect();
    let label =
        block.from(arrow).after(LENGTH).take_while(|line| !line.trim().is_empty() && !is_note(line)).find_map(label);
    let parts: Vec<&str> = std::iter::once(text).chain(more).chain(label).collect();
    if parts.len() == 1 { Cow::Borrowed(text) } else { Cow::Owned(with_label(&parts)) }
}

fn is_note(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("= ") || line.starts_with("help: ") || line.starts_with("note: ")
}

/// Joins a text and its label.
fn with_label(parts: &[&str]) -> String {
    parts.join(": ")
}

/// Reads the label after the carets: `   |   ^^^^ expected `u32``.
fn label(line: &str) -> Option<&str> {
    let code = line.trim_start().strip_prefix('|')?.trim_start();
    let (_, label) = code.rsplit_once('^')?;
    let label = label.trim_start_matches(['-', ' ']);
    let is_label =
        code.starts_with(['^', '-', '_', '|']) && !label.is_empty() && !label.starts_with("help: ") && label != "|";
    is_label.then_some(label)
}

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

pub(super) fn read_json<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
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
    let span = own_span(block, primary);
    let lines = Some(Lines { first: span.line_start.max(1), last: span.line_end.max(span.line_start).max(1) });
    Diagnostic { code, file: Some(span.file_name), lines, ..Diagnostic::error(message).of(severity) }
}

/// Returns the place, or that of the macro call if it is in another crate's macro.
fn own_span<'a>(block: &Block<'a, '_>, mut span: Span<'a>) -> Span<'a> {
    while !block.is_own(&span.file_name) {
        match span.expansion.take() {
            Some(expansion) => span = expansion.span,
            None => break,
        }
    }
    span
}
