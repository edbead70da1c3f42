//! Failed tests of ctest, googletest, Maven's surefire, Gradle and `dotnet test`.

use super::diagnostic::{Block, Diagnostic, FAILED, Place, join_lines};
use super::messages::strip_mark;
use super::place::leading_place;
use super::throwable;

/// The maximum number of tests that ctest lists.
const LISTED: usize = 10_000;
/// The maximum number of lines read of a message.
const MESSAGE: usize = 20;
/// The maximum number of lines between the start of a test and a failure in it.
const TEST: usize = 1000;

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim();
    match () {
        () if line == "The following tests FAILED:" => read_failed_list(block, found),
        () if line.starts_with("[  FAILED  ] ") => googletest(&line[13..], found),
        () if line.ends_with(": Failure") => expectation(block, found),
        () if line.ends_with("<<< FAILURE!") || line.ends_with("<<< ERROR!") => surefire(block, found),
        () if line.ends_with(" FAILED") => gradle(block, found),
        () if line.starts_with("Failed ") => dotnet(block, found),
        () if line.contains("***") => progress(line, found),
        () => 0,
    }
}

/// Reads the list `16 - tides_of_a_day (Failed)` of ctest.
fn read_failed_list<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let length = block.while_after(LISTED, |line| ctest(line).is_some());
    for (nth, (name, end)) in block.after(length).filter_map(ctest).enumerate() {
        found.push(Diagnostic { shown: block.from(1 + nth).span(1), ..Diagnostic::test(name, exit_text(end)) });
    }
    1 + length
}

fn ctest(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.trim().split_once(" - ")?;
    let (name, rest) = rest.rsplit_once(" (")?;
    let (end, _) = rest.split_once(')')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((name, end))
}

/// Returns the message for the word with which ctest ends a test.
fn exit_text(word: &str) -> String {
    if word == "Failed" { FAILED.to_owned() } else { format!("{FAILED}: {word}") }
}

/// Reads `16/26 Test #16: tides_of_a_day .........***Failed    0.71 sec`. Tests that a signal ended are in the list alone, in other words.
fn progress<'a>(line: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((before, end)) = line.split_once("***") else { return 0 };
    let Some((_, name)) = before.split_once("Test ").and_then(|(_, test)| test.split_once(": ")) else { return 0 };
    let Some(end) = ["Failed", "Timeout", "Not Run"].iter().find(|word| end.starts_with(**word)) else { return 0 };
    found.push(Diagnostic::test(name.trim_end_matches(['.', ' ']), exit_text(end)));
    1
}

/// Reads `[  FAILED  ] Tides.High (0 ms)`, and no count of tests.
fn googletest<'a>(rest: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let name = rest.split([' ', ',']).next().unwrap_or(rest);
    if !name.contains('.') {
        return 0;
    }
    found.push(Diagnostic::test(name, FAILED));
    1
}

/// Reads `tides_test.cc:12: Failure` and the values below it.
fn expectation<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(located) = leading_place(block.first().trim_start()).filter(|located| located.rest == ": Failure") else {
        return 0;
    };
    let length = block.while_after(MESSAGE, |line| !line.trim().is_empty() && !line.starts_with('['));
    let test = block.before(TEST).find_map(|line| line.trim_start().strip_prefix("[ RUN      ] "));
    let message = join_lines(block.after(length));
    let failure = match test {
        Some(test) => Diagnostic::test(test.trim(), message),
        None => Diagnostic::error(message),
    };
    found.push(failure.at(Some(located.place)));
    1 + length
}

/// Reads `[ERROR] tides.TidesTest.high -- Time elapsed: 0.01 s <<< FAILURE!` and the exception below it.
fn surefire<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = strip_mark(block.first()).trim();
    let Some((name, _)) = line.split_once("Time elapsed") else { return 0 };
    let name = name.trim_end_matches([' ', '-']);
    if name.starts_with("Tests run:") {
        return 1;
    }
    1 + read_exception(block, name, found)
}

/// Reads `TidesTest > high() FAILED` and the exception below it.
fn gradle<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first();
    let Some((name, _)) = line.rsplit_once(" FAILED").filter(|(name, _)| name.contains(" > ")) else { return 0 };
    if line.starts_with([' ', '>']) {
        return 0;
    }
    1 + read_exception(block, name, found)
}

/// Reads the exception of a test, and returns the number of its lines.
fn read_exception<'a>(block: &Block<'a, '_>, name: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let mut exceptions = vec![];
    let length = throwable::read(&block.from(1), &mut exceptions);
    let failure = match exceptions.pop() {
        Some(thrown) => {
            let message = thrown.full_message();
            Diagnostic { file: thrown.file, lines: thrown.lines, ..Diagnostic::test(name, message) }
        }
        None => Diagnostic::test(name, FAILED),
    };
    found.push(Diagnostic { shown: block.span((1 + length).min(MESSAGE)), ..failure });
    length
}

/// Reads `Failed Tides.High [12 ms]`, its message and its stack.
fn dotnet<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim();
    let Some((name, _)) = line["Failed ".len()..].rsplit_once(" [").filter(|_| line.ends_with(']')) else { return 0 };
    if block.line(1).trim() != "Error Message:" {
        return 0;
    }
    let text = block.from(1);
    let length = text.while_after(MESSAGE, |line| line.trim() != "Stack Trace:" && !line.trim().is_empty());
    let stack = text.from(1 + length);
    let frames = stack.while_after(MESSAGE, |line| line.trim_start().starts_with("at "));
    let place = block.own(stack.after(frames).filter_map(frame));
    found.push(Diagnostic::test(name, join_lines(text.after(length))).at(place));
    2 + length + frames
}

/// Reads `at Tides.Tests.High() in /home/ada/tides/Tests.cs:line 12`.
fn frame(line: &str) -> Option<Place<'_>> {
    let (_, place) = line.rsplit_once(" in ")?;
    let (file, line) = place.trim_end().rsplit_once(":line ")?;
    Some(Place { file, line: line.parse().ok()? })
}
