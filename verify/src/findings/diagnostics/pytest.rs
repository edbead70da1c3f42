//! Reports of pytest: its sections of failures and its short summary.

use super::block::Block;
use super::diagnostic::{Diagnostic, FAILED, Place};
use super::place::located;
use super::rust_tests::joined;

/// The maximum number of lines read of a section.
const LENGTH: usize = 4000;
/// The maximum number of lines read of an error.
const ERROR: usize = 4;

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first();
    match line.as_bytes() {
        [b'_', b'_', ..] => section(block, found),
        [b'F' | b'E', ..] => summary(line, found),
        _ => 0,
    }
}

/// Reads `____ TestLow.test_low_tide ____` and the lines after it.
fn section<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(title) = title(block.first()) else { return 0 };
    let length = block.while_after(LENGTH, |line| title_or_end(line).is_none());
    let lines = || block.after(length);
    let message = joined(lines().filter_map(error).take(ERROR));
    if message.is_empty() {
        return 1;
    }
    let places: Vec<Place<'a>> = lines().filter_map(place).collect();
    let name = title.trim_start_matches("ERROR at setup of ").trim_start_matches("ERROR at teardown of ");
    let name = name.trim_start_matches("ERROR collecting ");
    found.push(Diagnostic::test(name, message).at(block.own(places.into_iter().rev())));
    1 + length
}

fn title(line: &str) -> Option<&str> {
    let title = line.trim_matches('_');
    let rules = line.len() - title.len();
    let is_title = rules >= 4 && title.starts_with(' ') && title.ends_with(' ') && !title.contains(" _ ");
    is_title.then(|| title.trim())
}

fn title_or_end(line: &str) -> Option<&str> {
    if line.starts_with("=====") { Some(line) } else { title(line).filter(|_| line.starts_with("__")) }
}

/// Reads `E   AssertionError: at noon`.
fn error(line: &str) -> Option<&str> {
    let text = line.strip_prefix("E ")?.trim();
    (!text.is_empty()).then_some(text)
}

/// Reads `test_tides.py:12: AssertionError`, `tides.py:14: in read`.
fn place(line: &str) -> Option<Place<'_>> {
    let located = located(line).filter(|_| !line.starts_with([' ', 'E', '>']))?;
    located.rest.starts_with(':').then_some(located.place)
}

/// Reads `FAILED test_tides.py::test_high_tide - AssertionError: at noon`.
fn summary<'a>(line: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) else { return 0 };
    let (id, message) = rest.split_once(" - ").unwrap_or((rest, FAILED));
    let (file, name) = id.split_once("::").unwrap_or((id, id));
    if !file.ends_with(".py") || file.contains(' ') {
        return 0;
    }
    let place = Place { file, line: 0 };
    let name = name.replace("::", ".");
    found.push(Diagnostic::test(name, message.trim_end_matches("...")).at(Some(place)));
    1
}
