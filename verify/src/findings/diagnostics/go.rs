//! Failures of `go test`, and panics of Go programs.

use super::diagnostic::{Block, Diagnostic, FAILED, Place, join_lines};
use super::place::{leading_place, place};

/// The maximum number of lines read of a failed test.
const LENGTH: usize = 30;
/// The maximum number of lines between a panic and its stack.
const HEAD: usize = 12;
/// The maximum number of lines read of goroutines' stacks.
const STACK: usize = 200;

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim_start();
    if let Some(name) = line.strip_prefix("--- FAIL: ") {
        return failure(block, name.split_once(" (").map_or(name, |(name, _)| name), found);
    }
    if line.starts_with("panic: ") || line.starts_with("fatal error: ") {
        return panic(block, None, found);
    }
    0
}

/// Reads `--- FAIL: TestHigh (0.00s)` and the messages below it, or above it if the tests are listed.
fn failure<'a>(block: &Block<'a, '_>, name: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let next = block.line(1).trim_start();
    if next.starts_with("panic: ") {
        return 1 + panic(&block.from(1), Some(name), found);
    }
    if next.strip_prefix("--- FAIL: ").is_some_and(|next| next.starts_with(name)) {
        return 1;
    }
    let length = block.while_after(LENGTH, is_message);
    let mut messages: Vec<&'a str> = block.after(length).collect();
    if length == 0 {
        messages = block.before(LENGTH).take_while(|line| is_message(line)).collect();
        messages.reverse();
    }
    found.push(Diagnostic { shown: block.span(1 + length), ..test(name, &messages) });
    1 + length
}

/// Returns whether the line is output of a test: indented, and not the next test.
fn is_message(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim_start().starts_with("--- ")
}

fn test<'a>(name: &'a str, messages: &[&'a str]) -> Diagnostic<'a> {
    let first = messages.first().and_then(|line| leading_place(line.trim_start()));
    let texts = messages.iter().map(|line| match leading_place(line.trim_start()) {
        Some(located) => located.rest.trim_start_matches(':'),
        None => line,
    });
    let text = join_lines(texts);
    let text = if text.is_empty() { FAILED.to_owned() } else { text };
    Diagnostic::test(name, text).at(first.map(|located| located.place))
}

/// Reads `panic: text` and the frames of the first goroutine.
fn panic<'a>(block: &Block<'a, '_>, test: Option<&'a str>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let text = block.first().trim_start().trim_start_matches("panic: ").trim_end_matches(" [recovered]");
    if !block.after(HEAD).any(|line| line.starts_with("goroutine ")) {
        return 0;
    }
    let length = block.while_after(STACK, |line| !line.starts_with("FAIL") && !line.starts_with("exit status"));
    let place = block.own(block.after(length).filter_map(frame));
    let panic = match test {
        Some(test) => Diagnostic::test(test, text),
        None => Diagnostic::error(text).code(Some("panic")),
    };
    found.push(Diagnostic { shown: block.span(1 + length), ..panic.at(place) });
    1 + length
}

/// Reads `/home/ada/tides/tides.go:10 +0x31` after a tab.
fn frame(line: &str) -> Option<Place<'_>> {
    let frame = line.strip_prefix('\t')?;
    place(frame.split_once(" +0x").map_or(frame, |(place, _)| place))
}
