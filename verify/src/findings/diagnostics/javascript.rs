//! JavaScript: failed tests of jest, vitest and node, and the default format of eslint.

use super::diagnostic::{Block, Diagnostic, FAILED, Place, join_lines};
use super::place::{leading_place, place, severity};
use super::throwable;

/// The maximum number of lines read of a failed test.
const LENGTH: usize = 120;

pub(super) fn read_tests<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim_start();
    if let Some(name) = line.strip_prefix("● ") {
        return jest(block, name, found);
    }
    if let Some(id) = line.strip_prefix("FAIL ").filter(|id| id.contains(" > ")) {
        return vitest(block, id.trim(), found);
    }
    if let Some(test) = line.strip_prefix("not ok ") {
        return tap(block, test, found);
    }
    if let Some(name) = line.strip_prefix("✖ ") {
        return spec(block, name, found);
    }
    0
}

/// Reads `● tides › high tide`, an error and its frames.
fn jest<'a>(block: &Block<'a, '_>, name: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let is_over = |line: &str| line.trim_start().starts_with("● ") || line.starts_with("Test Suites:");
    let length = block.while_after(LENGTH, |line| !is_over(line));
    let message = join_lines(block.after(length).take_while(|line| !is_code(line) && throwable::frame(line).is_none()));
    if message.is_empty() {
        return 0;
    }
    let place = block.own(block.after(length).filter_map(throwable::frame));
    found.push(Diagnostic::test(name, message).at(place));
    1 + length
}

/// Returns whether the line shows code: `    > 10 | expect(1)`.
fn is_code(line: &str) -> bool {
    let code = line.trim_start().trim_start_matches("> ").trim_start();
    let rest = code.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < code.len() && rest.trim_start().starts_with('|')
}

/// Reads `FAIL  tides.test.js > tides > high tide`, an error and its place.
fn vitest<'a>(block: &Block<'a, '_>, id: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((file, name)) = id.split_once(" > ") else { return 0 };
    let file = file.rsplit(' ').next().unwrap_or(file);
    let length = block.while_after(LENGTH, |line| !line.starts_with('⎯') && !line.trim_start().starts_with("FAIL "));
    let message = join_lines(block.after(length).take_while(|line| !line.trim().is_empty() && arrow(line).is_none()));
    let place = block.own(block.after(length).filter_map(arrow)).unwrap_or(Place { file, line: 0 });
    found.push(Diagnostic::test(name, message).at(Some(place)));
    1 + length
}

/// Reads ` ❯ tides.test.js:10:39` and ` ❯ read tides.js:8:54`.
fn arrow(line: &str) -> Option<Place<'_>> {
    place(line.trim_start().strip_prefix("❯ ")?.rsplit(' ').next()?)
}

/// Reads `not ok 1 - high tide` and the YAML below it.
fn tap<'a>(block: &Block<'a, '_>, test: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((_, name)) = test.split_once("- ") else { return 0 };
    let length = block.while_after(LENGTH, |line| line.starts_with(' ') && line.trim() != "...");
    let place = block.after(length).find_map(|line| value(line, "location: ").and_then(place));
    let message = yaml_error(&block.from(1), length);
    let message = if message.is_empty() { FAILED.to_owned() } else { message };
    found.push(Diagnostic::test(name.split(" # ").next().unwrap_or(name), message).at(place));
    1 + length
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    Some(line.trim_start().strip_prefix(key)?.trim_matches(['\'', '"']))
}

/// Reads `error: "text"`, or the lines below `error: |-`.
fn yaml_error(block: &Block<'_, '_>, length: usize) -> String {
    let Some(at) = block.after(length).position(|line| line.trim_start().starts_with("error: ")) else {
        return String::new();
    };
    let head = block.from(at + 1);
    match value(head.first(), "error: ") {
        Some(text) if !text.starts_with('|') => text.to_owned(),
        _ => join_lines(head.after(length).take_while(|line| line.starts_with("    ") || line.trim().is_empty())),
    }
}

/// Reads `✖ high tide (1.7ms)` with an error below it.
fn spec<'a>(block: &Block<'a, '_>, name: &'a str, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let indent = block.first().len() - block.first().trim_start().len();
    let is_inside = |line: &str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
    let length = block.while_after(LENGTH, is_inside);
    let message = join_lines(block.after(length).take_while(|line| throwable::frame(line).is_none()));
    let has_time = name.ends_with("ms)");
    if message.is_empty() || !has_time {
        return 0;
    }
    let place = block.own(block.after(length).filter_map(throwable::frame));
    let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
    found.push(Diagnostic::test(name, message).at(place.or_else(|| leading_place(name).map(|located| located.place))));
    1 + length
}

/// The maximum number of messages of one file that are read together.
const MESSAGES: usize = 100_000;

pub(super) fn read_eslint<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
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
