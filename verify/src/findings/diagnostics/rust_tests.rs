//! Panics of Rust programs, failures of `cargo test` and nextest.

use super::diagnostic::{Block, Diagnostic, FAILED, Place, join_lines};
use super::place::{leading_place, place};

/// The maximum number of lines read of a message.
const MESSAGE: usize = 12;
/// The maximum number of lines read of a test's output.
const SECTION: usize = 10_000;
/// The words with which nextest marks failed tests.
const NEXTEST: [&str; 7] = ["FAIL [", "SIGABRT [", "SIGSEGV [", "SIGKILL [", "TIMEOUT [", "LEAK-FAIL [", "ABORT ["];

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim_start();
    match line.as_bytes() {
        [b't', b'h', ..] => panic(block, line, found),
        [b'-', b'-', ..] => section(block, line, found),
        [b't', b'e', ..] => status(line, found),
        [b'F' | b'S' | b'T' | b'L' | b'A', ..] => nextest(line, found),
        _ => 0,
    }
}

/// Reads `thread 'tests::low_tide' (13776) panicked at src/lib.rs:25:23:` and the message below it.
fn panic<'a>(block: &Block<'a, '_>, line: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((thread, at)) = read_panic(line) else { return 0 };
    let (place, inline) = panic_place(at);
    let length = block.while_after(MESSAGE, |line| !is_after_message(line));
    let message = match inline {
        Some(message) => message.to_owned(),
        None => join_lines(block.after(length)),
    };
    let shown = block.span(1 + length);
    found.push(Diagnostic { shown, ..Diagnostic::test(thread, message).at(place) });
    1 + if inline.is_some() { 0 } else { length }
}

fn read_panic(line: &str) -> Option<(&str, &str)> {
    let (thread, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
    let (_, at) = rest.split_once("panicked at ")?;
    Some((thread, at))
}

/// Reads `src/lib.rs:3:5:`, and `'text', src/lib.rs:3:5` of older compilers.
fn panic_place(at: &str) -> (Option<Place<'_>>, Option<&str>) {
    match at.rsplit_once("', ") {
        Some((message, at)) => (place(at), Some(message.trim_start_matches('\''))),
        None => (leading_place(at).map(|located| located.place), None),
    }
}

fn is_after_message(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("note: ") || line == "stack backtrace:" || line.starts_with("---- ")
}

/// Reads `---- tests::low_tide stdout ----`: up to a panic, which is read separately except for a doctest's, or all of
/// it, as for tests that return an error.
fn section<'a>(block: &Block<'a, '_>, line: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(name) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) else { return 0 };
    let is_over =
        |line: &str| line.starts_with("---- ") || line == "failures:" || read_panic(line.trim_start()).is_some();
    let length = block.while_after(SECTION, |line| !is_over(line));
    let panic = block.from(1 + length);
    let (name, place) = read_doctest_name(name);
    if read_panic(panic.first().trim_start()).is_none() {
        found.push(Diagnostic::test(name, outcome(block, length)).at(place));
        return 1 + length;
    }
    if place.is_none() {
        return 1 + length;
    }
    let message = join_lines(panic.after(panic.while_after(MESSAGE, |line| !is_after_message(line))));
    found.push(Diagnostic { shown: panic.span(3), ..Diagnostic::test(name, message).at(place) });
    2 + length
}

/// Returns the last message of a test: its error, or that it did not panic.
fn outcome(block: &Block<'_, '_>, length: usize) -> String {
    let lines: Vec<&str> = block.after(length).filter(|line| !line.trim().is_empty()).collect();
    let error =
        lines.iter().rposition(|line| line.starts_with("Error: ") || line.starts_with("note: test did not panic"));
    let from = error.unwrap_or(lines.len().saturating_sub(3));
    let message = join_lines(lines[from..].iter().copied().take(MESSAGE));
    if message.is_empty() { FAILED.to_owned() } else { message }
}

/// Reads the name of a doctest: `src/lib.rs - level (line 5)` is `src/lib.rs - level` in line 5.
fn read_doctest_name(name: &str) -> (&str, Option<Place<'_>>) {
    let parts = name.strip_suffix(')').and_then(|name| name.rsplit_once(" (line "));
    let Some((short, (line, file))) = parts.and_then(|(short, line)| Some((short, (line, short.split_once(" - ")?.0))))
    else {
        return (name, None);
    };
    (short, line.parse().ok().map(|line| Place { file, line }))
}

/// Reads `test tests::low_tide ... FAILED`.
fn status<'a>(line: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((name, _)) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... FAILED")) else { return 0 };
    let (name, place) = read_doctest_name(name.trim_end_matches(" - should panic"));
    found.push(Diagnostic { file: place.map(|place| place.file.into()), ..Diagnostic::test(name, FAILED) });
    1
}

/// Reads `FAIL [   0.023s] (1/4) tides tests::high_tide`.
fn nextest<'a>(line: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(word) = NEXTEST.iter().find(|word| line.starts_with(**word)) else { return 0 };
    let Some((_, rest)) = line[word.len()..].split_once(']') else { return 0 };
    let Some(name) = rest.split_whitespace().last() else { return 0 };
    found.push(Diagnostic::test(name, FAILED));
    1
}
