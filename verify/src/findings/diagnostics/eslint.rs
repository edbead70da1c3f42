//! The default format of eslint: a path, and indented lines below it.

use super::block::Block;
use super::diagnostic::{Diagnostic, Place};
use super::place::severity;

/// The maximum number of messages of one file that are read together.
const MESSAGES: usize = 100_000;

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    if !is_start(block.first(), block.line(1)) {
        return 0;
    }
    let file = block.first().trim_end();
    let length = block.while_after(MESSAGES, |line| message(file, line).is_some());
    if length == 0 {
        return 0;
    }
    for (nth, line) in block.after(length).enumerate() {
        if let Some(diagnostic) = message(file, line) {
            found.push(Diagnostic { shown: block.from(1 + nth).span(1), ..diagnostic });
        }
    }
    1 + length
}

/// Returns whether a line is not indented and the line below is an indented number.
fn is_start(file: &str, next: &str) -> bool {
    let Some(indented) = next.strip_prefix("  ") else { return false };
    !file.starts_with([' ', '\t']) && indented.trim_start_matches(' ').starts_with(|c: char| c.is_ascii_digit())
}

/// Reads `  9:9   error    'unused' is assigned a value but never used  no-unused-vars`.
fn message<'a>(file: &'a str, line: &'a str) -> Option<Diagnostic<'a>> {
    let (position, rest) = line.trim().split_once(' ')?;
    let (number, column) = position.split_once(':')?;
    let line = number.parse().ok().filter(|_| column.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (severity, rest) = severity(rest.trim_start())?;
    let text = rest.strip_prefix(' ')?.trim();
    let (text, rule) = text.rsplit_once("  ").map_or((text, None), |(text, rule)| (text.trim_end(), Some(rule)));
    Some(Diagnostic::error(text).of(severity).code(rule).at(Some(Place { file, line })))
}
