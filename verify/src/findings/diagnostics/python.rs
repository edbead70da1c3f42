//! Python: tracebacks, alone and in reports of unittest, and the failures and short summary of pytest.

use super::diagnostic::{Block, Diagnostic, FAILED, Place, join_lines};
use super::place::leading_place;
use super::throwable::{Exception, parse_exception};

/// The maximum number of lines read of a traceback.
const TRACEBACK: usize = 3000;
const BEGIN: &str = "Traceback (most recent call last):";
/// Lines between an exception and the one it caused.
const CHAINED: [&str; 2] = ["During handling of the above exception", "The above exception was the direct cause"];

pub(super) fn read_traceback<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim_start();
    if line.starts_with(BEGIN) {
        return traceback(block, found);
    }
    if line.starts_with("File \"") && frame(line).is_some() {
        return syntax_error(block, found);
    }
    unit_test(block, found)
}

/// Reads frames up to the exception; of a chain of exceptions, the last one.
fn traceback<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let indent = indent(block.first());
    let frames = block.while_after(TRACEBACK, |line| !is_end(line, indent));
    let Some(thrown) = parse_exception(block.line(1 + frames)) else { return 1 };
    let read = 2 + frames;
    if let Some(next) = next_traceback(block, read) {
        return next;
    }
    let places: Vec<Place<'a>> = block.after(frames).filter_map(frame).collect();
    let place = block.own(places.into_iter().rev());
    found.push(Diagnostic { shown: block.span(read), ..exception(thrown).at(place) });
    read
}

fn exception(thrown: Exception<'_>) -> Diagnostic<'_> {
    Diagnostic::error(thrown.text).code(Some(thrown.name))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns whether this is the line of the exception: the first one that is not indented more than the head.
fn is_end(line: &str, head: usize) -> bool {
    !line.trim().is_empty() && indent(line) <= head
}

/// Returns the start of the next traceback of a chain, counted from the first line.
fn next_traceback(block: &Block<'_, '_>, read: usize) -> Option<usize> {
    let is_between =
        |line: &str| line.trim().is_empty() || CHAINED.iter().any(|text| line.trim_start().starts_with(text));
    let between = block.from(read - 1).while_after(4, is_between);
    let is_chained = between > 0 && block.line(read + between).trim_start().starts_with(BEGIN);
    let has_words = block.from(read - 1).after(between).any(|line| !line.trim().is_empty());
    (is_chained && has_words).then_some(read + between)
}

/// Reads `File "a.py", line 3, in f`.
fn frame(line: &str) -> Option<Place<'_>> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    Some(Place { file, line: rest[..end].parse().ok()? })
}

/// Reads a place followed by code, a caret and an error, as the parser prints it without a traceback.
fn syntax_error<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let code = block.while_after(4, |line| parse_exception(line).is_none());
    let Some(thrown) = parse_exception(block.line(1 + code)) else { return 1 };
    found.push(exception(thrown).at(frame(block.first())));
    2 + code
}

/// Reads `FAIL: test_high (tests.Tides.test_high)`, a line of dashes and a traceback.
fn unit_test<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first();
    let Some(name) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) else { return 0 };
    let dashes = block.while_after(3, |line| !line.starts_with("-----"));
    if !block.line(1 + dashes).starts_with("-----") || !block.line(2 + dashes).starts_with(BEGIN) {
        return 0;
    }
    let before = found.len();
    let read = 2 + dashes + read_chain(&block.from(2 + dashes), found);
    for failure in &mut found[before..] {
        let message = failure.full_message();
        *failure = Diagnostic { file: failure.file.take(), lines: failure.lines, ..Diagnostic::test(name, message) };
    }
    read
}

/// Reads the tracebacks of a chain.
fn read_chain<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let (before, mut read) = (found.len(), 0);
    while found.len() == before && block.line(read).starts_with(BEGIN) {
        read += traceback(&block.from(read), found);
    }
    read
}

/// The maximum number of lines read of a section.
const SECTION: usize = 4000;
/// The maximum number of lines read of an error.
const ERROR: usize = 4;

pub(super) fn read_pytest<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
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
    let length = block.while_after(SECTION, |line| title_or_end(line).is_none());
    let lines = || block.after(length);
    let message = join_lines(lines().filter_map(error).take(ERROR));
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
    let located = leading_place(line).filter(|_| !line.starts_with([' ', 'E', '>']))?;
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
