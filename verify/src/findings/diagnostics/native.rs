//! Builds of native code: errors and warnings of CMake, and symbols that a linker misses.

use super::diagnostic::{Block, Diagnostic, Place};
use super::place::leading_place;
use crate::findings::finding::Severity;

/// The maximum number of lines read of a message.
const MESSAGE: usize = 60;

/// Reads `CMake Error at CMakeLists.txt:3 (find_package):` and the text below it. A place in a module of CMake is
/// replaced by the place in the repository that called it.
pub(super) fn read_cmake<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((severity, place)) = head(block.first()) else { return 0 };
    let length = block.while_after(MESSAGE, |line| line.trim().is_empty() || line.starts_with("  "));
    let calls = block.from(1 + length);
    let callers = calls.first().starts_with("Call Stack").then(|| calls.after(MESSAGE)).into_iter().flatten();
    let callers = callers.take_while(|line| line.starts_with("  ")).filter_map(caller);
    let place = block.own(place.into_iter().chain(callers));
    let text: Vec<&str> = block.after(length).flat_map(str::split_whitespace).collect();
    found.push(Diagnostic::error(text.join(" ")).of(severity).at(place));
    1 + length
}

/// Returns severity and place; an error of a whole file has no line.
fn head(line: &str) -> Option<(Severity, Option<Place<'_>>)> {
    let rest = line.strip_prefix("CMake ")?;
    let (severity, rest) = match rest.strip_prefix("Error") {
        Some(rest) => (Severity::Error, rest),
        None => (Severity::Warning, rest.strip_prefix("Deprecation ").unwrap_or(rest).strip_prefix("Warning")?),
    };
    let rest = rest.strip_prefix(" (dev)").unwrap_or(rest).strip_suffix(':')?;
    match rest.strip_prefix(" at ") {
        Some(place) => Some((severity, Some(leading_place(place)?.place))),
        None if rest.is_empty() => Some((severity, None)),
        None => Some((severity, Some(Place { file: rest.strip_prefix(" in ")?, line: 0 }))),
    }
}

/// Reads `CMakeLists.txt:12 (check)`.
fn caller(line: &str) -> Option<Place<'_>> {
    Some(leading_place(line.trim())?.place)
}

/// Messages of linkers.
const MISSING: [&str; 4] =
    ["undefined reference to ", "multiple definition of ", "undefined symbol: ", "Undefined symbols for "];

pub(super) fn read_linker<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first();
    if !line.contains("ndefined ") && !line.contains("multiple definition") {
        return 0;
    }
    let Some(at) = MISSING.iter().find_map(|text| line.find(text)) else { return 0 };
    let text = match line.find("Undefined symbols for ") {
        Some(_) => block.line(1).trim().trim_end_matches(", referenced from:"),
        None => line[at..].split_once("; ").map_or(&line[at..], |(text, _)| text),
    };
    let place = source(&line[..at]).or_else(|| block.own(block.after(2).filter_map(reference_place)));
    found.push(Diagnostic::error(text).at(place));
    1
}

/// Reads the file before the message: `/usr/bin/ld: link.c:(.text+0xa): ` or `link.c:5: `.
fn source(before: &str) -> Option<Place<'_>> {
    let files = before.split(": ").filter_map(|part| part.trim().split_once(':'));
    let is_source =
        |file: &str| !file.ends_with(".o") && !file.ends_with(".a") && file.contains('.') && !file.contains(' ');
    let mut places = files.filter(|(file, _)| is_source(file));
    places.next().map(|(file, position)| Place { file, line: position.parse().unwrap_or(0) })
}

/// Reads `>>> referenced by main.rs:9 (src/main.rs:9)`.
fn reference_place(line: &str) -> Option<Place<'_>> {
    let (_, rest) = line.split_once("referenced by ")?;
    let place = rest.split_once('(').map_or(rest, |(_, place)| place);
    super::place::place(place)
}
