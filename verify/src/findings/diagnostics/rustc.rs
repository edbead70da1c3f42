//! Diagnostics with a header and an arrow below it: rustc, cargo, clippy, ruff.

use std::borrow::Cow;

use super::bare::is_summary;
use super::block::Block;
use super::diagnostic::{Diagnostic, Place};
use super::located::is_code;
use super::place::{located, severity};
use crate::findings::severity::Severity;

/// The maximum number of lines of a header.
const HEADER: usize = 8;
/// The maximum number of lines read of one diagnostic.
const LENGTH: usize = 200;

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
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
    located(place).map(|located| located.place)
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
pub(super) fn with_label(parts: &[&str]) -> String {
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
