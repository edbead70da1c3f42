//! Failed tests in numbered lists: mocha, rspec, minitest, PHPUnit and ExUnit.

use super::diagnostic::{Block, Diagnostic, Place, join_lines};
use super::place::{leading_place, place};
use super::throwable;

/// The maximum number of lines read of a failed test.
const LENGTH: usize = 120;
/// The maximum depth of a test's name in mocha.
const DEPTH: usize = 12;
/// Beginnings of lines that end such a list.
const ENDS: [&str; 6] = ["Finished in ", "Failed examples:", "FAILURES!", "ERRORS!", "--", "Tests: "];

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some((indent, name)) = read_number(block.first()) else { return 0 };
    let is_over = |line: &str| {
        let is_next = read_number(line).is_some_and(|(next, _)| next == indent);
        is_next || ENDS.iter().any(|end| line.starts_with(end))
    };
    let length = block.while_after(LENGTH, |line| !is_over(line));
    let test = Test { block, length };
    let failure = match name {
        "Failure:" | "Error:" => test.minitest(),
        _ if indent == 0 => test.phpunit(name),
        _ => test.rspec(name).or_else(|| test.exunit(name)).or_else(|| test.mocha(name)),
    };
    let Some(failure) = failure else { return 0 };
    found.push(failure);
    1 + length
}

/// Reads `  12) text` into its indentation and the text.
fn read_number(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let (number, name) = text.split_once(") ")?;
    let is_number = !number.is_empty() && number.len() <= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((line.len() - text.len(), name.trim_end()))
}

/// The lines of a failed test below its number.
struct Test<'a, 'b, 't> {
    block: &'b Block<'a, 't>,
    length: usize,
}

impl<'a> Test<'a, '_, '_> {
    fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.block.after(self.length)
    }

    fn failure(&self, name: String, message: String, places: impl Iterator<Item = Place<'a>>) -> Diagnostic<'a> {
        Diagnostic::test(name, message).at(self.block.own(places))
    }

    /// Reads `1) Tides is high`, `Failure/Error: code`, the values and the frames after `#`.
    fn rspec(&self, name: &str) -> Option<Diagnostic<'a>> {
        let frame = |line: &'a str| place_before_in(line.trim().strip_prefix("# ")?);
        let is_noise = |line: &str| line.trim() == "(compared using ==)";
        self.lines().find(|line| line.trim_start().starts_with("Failure/Error:"))?;
        let text = self.lines().take_while(|line| frame(line).is_none()).filter(|line| !is_noise(line));
        let text = join_lines(text.map(|line| line.trim().strip_prefix("Failure/Error: ").unwrap_or(line)));
        Some(self.failure(name.to_owned(), text, self.lines().filter_map(frame)))
    }

    /// Reads `TidesTest#test_high [test/tides_test.rb:3]:` and the text below it, or an exception and its frames.
    fn minitest(&self) -> Option<Diagnostic<'a>> {
        let head = self.block.line(1).trim().strip_suffix(':')?;
        let (name, at) = match head.split_once(" [") {
            Some((name, at)) => (name, place(at.trim_end_matches(']'))),
            None => (head, None),
        };
        let frame = |line: &'a str| line.starts_with("    ").then(|| place_before_in(line.trim())).flatten();
        let text = self.lines().skip(1).take_while(|line| !line.trim().is_empty() && frame(line).is_none());
        Some(self.failure(name.to_owned(), join_lines(text), at.into_iter().chain(self.lines().filter_map(frame))))
    }

    /// Reads `1) TidesTest::testHigh`, the text below it and, after an empty line, the places.
    fn phpunit(&self, name: &str) -> Option<Diagnostic<'a>> {
        let is_test = name.contains("::");
        let text = self.lines().take_while(|line| place(line).is_none());
        is_test.then(|| self.failure(name.to_owned(), join_lines(text), self.lines().filter_map(place)))
    }

    /// Reads `1) test high (TidesTest)`, its place, the text and the stack below `stacktrace:`.
    fn exunit(&self, name: &str) -> Option<Diagnostic<'a>> {
        let at = place(self.block.line(1)).filter(|_| name.ends_with(')'))?;
        let text = self.lines().skip(1).take_while(|line| line.trim() != "stacktrace:");
        let stack = self.lines().filter_map(|line| Some(leading_place(line.trim())?.place)).skip(1);
        Some(self.failure(name.to_owned(), join_lines(text), stack.chain([at])))
    }

    /// Reads `1) Tides`, the rest of the name up to a colon, the error and its frames.
    fn mocha(&self, name: &str) -> Option<Diagnostic<'a>> {
        let is_open = |line: &&str| !line.trim().is_empty() && !line.trim_end().ends_with(':');
        let depth = if name.ends_with(':') { 0 } else { 1 + self.block.after(DEPTH).take_while(is_open).count() };
        let parts = [name].into_iter().chain(self.block.after(depth).map(str::trim));
        let full = parts.collect::<Vec<_>>().join(" > ");
        let full = full.strip_suffix(':')?;
        let is_frame = |line: &&str| line.trim_start().starts_with("at ");
        self.lines().find(is_frame)?;
        let text = self.lines().skip(depth).take_while(|line| !is_frame(line));
        let text = join_lines(text.filter(|line| line.trim() != "+ expected - actual"));
        Some(self.failure(full.to_owned(), text, self.lines().filter_map(throwable::frame)))
    }
}

/// Reads `./spec/tides_spec.rb:3:in 'block'`.
fn place_before_in(line: &str) -> Option<Place<'_>> {
    place(line.split_once(":in ").map_or(line, |(place, _)| place))
}
