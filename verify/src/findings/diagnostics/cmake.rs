//! Errors and warnings of CMake, whose text is indented below their place.

use super::block::Block;
use super::diagnostic::{Diagnostic, Place};
use super::place::located;
use crate::findings::severity::Severity;

/// The maximum number of lines read of a message.
const MESSAGE: usize = 60;

/// Reads `CMake Error at CMakeLists.txt:3 (find_package):` and the text below it. A place in a module of CMake is
/// replaced by the place in the repository that called it.
pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
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
        Some(place) => Some((severity, Some(located(place)?.place))),
        None if rest.is_empty() => Some((severity, None)),
        None => Some((severity, Some(Place { file: rest.strip_prefix(" in ")?, line: 0 }))),
    }
}

/// Reads `CMakeLists.txt:12 (check)`.
fn caller(line: &str) -> Option<Place<'_>> {
    Some(located(line.trim())?.place)
}
