//! Exceptions with a stack trace: Java, Kotlin, JavaScript.

use std::borrow::Cow;

use super::diagnostic::{Block, Diagnostic, Place};
use super::place::place;

/// The maximum number of lines of a message before the first frame.
const MESSAGE: usize = 10;
/// The maximum number of lines read of a stack trace.
const FRAMES: usize = 2000;
/// Packages of the platform.
const PLATFORM: [&str; 8] = ["java.", "javax.", "jdk.", "sun.", "kotlin.", "org.junit.", "junit.", "org.gradle."];

/// The type and the text of an exception.
#[derive(Clone, Copy)]
pub(super) struct Exception<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

pub(super) fn read<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(thrown) = parse_exception(headline(block.first())) else { return 0 };
    let message = block.while_after(MESSAGE, |line| !is_frame(line));
    let frames = block.from(message);
    if !is_frame(frames.line(1)) {
        return 0;
    }
    let length = frames.while_after(FRAMES, |line| is_frame(line) || is_between(line));
    let places = frames.after(length).filter_map(frame);
    let place = block.own(places);
    let text = text(thrown, block.after(message), frames.after(length));
    found.push(Diagnostic::error(text).code(Some(thrown.name)).at(place));
    1 + message + length
}

/// Returns the line without the prefixes of Java and JavaScript before the type.
fn headline(line: &str) -> &str {
    let line = line.trim_start();
    let line = match line.strip_prefix("Exception in thread \"").and_then(|line| line.split_once("\" ")) {
        Some((_, rest)) => rest,
        None => line,
    };
    line.strip_prefix("Uncaught ").unwrap_or(line)
}

/// Reads `TypeError: text`, `java.lang.IllegalStateException`, `AssertionError [ERR_ASSERTION]: text`.
pub(super) fn parse_exception(line: &str) -> Option<Exception<'_>> {
    let line = line.trim_start();
    let end = line.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '$'))).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = match rest.strip_prefix(" [").and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => rest,
        None => rest,
    };
    let text = if rest.trim().is_empty() { Some("") } else { rest.strip_prefix(':') };
    text.filter(|_| is_type(name)).map(|text| Exception { name, text: text.trim() })
}

/// Returns whether a name is that of an exception: its last part starts with a capital, or it has a usual suffix.
fn is_type(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let ends = ["Error", "Exception", "Exit", "Interrupt", "Warning", "Throwable", "Failure"];
    let is_known = ends.iter().any(|end| last.ends_with(end)) && !last.starts_with(|c: char| c.is_ascii_digit());
    is_known || (name.contains('.') && last.starts_with(char::is_uppercase) && last.len() > 2)
}

/// Returns whether the line is a frame: `at f (/a/b.js:3:5)`, `at a.B.c(B.java:3)`.
fn is_frame(line: &str) -> bool {
    line.starts_with([' ', '\t'])
        && line.trim_start().strip_prefix("at ").is_some_and(|frame| frame.contains(['(', ':', '<']))
}

/// Returns whether more frames may follow the line: `Caused by: ..`, `... 3 more`.
fn is_between(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("Caused by: ") || (line.starts_with("... ") && line.ends_with("more"))
}

/// Reads the place of a frame.
pub(super) fn frame(line: &str) -> Option<Place<'_>> {
    let frame = line.trim_start().strip_prefix("at ")?;
    let frame = frame.trim_end_matches(" {");
    match frame.split_once('(') {
        Some((function, _)) if is_platform(function) => None,
        _ => place(frame.rsplit_once('(').map_or(frame, |(_, place)| place.trim_end_matches(')'))),
    }
}

fn is_platform(function: &str) -> bool {
    let function = function.rsplit('/').next().unwrap_or(function);
    PLATFORM.iter().any(|package| function.starts_with(package))
}

/// Returns the text of an exception, with its cause.
fn text<'a>(
    thrown: Exception<'a>,
    more: impl Iterator<Item = &'a str>,
    frames: impl Iterator<Item = &'a str>,
) -> Cow<'a, str> {
    let cause = frames.filter_map(|line| line.trim_start().strip_prefix("Caused by: ")).last();
    let more = more.map(str::trim).filter(|line| !line.is_empty());
    let parts: Vec<&str> = std::iter::once(thrown.text).chain(more).collect();
    match cause {
        None if parts.len() == 1 => Cow::Borrowed(thrown.text),
        None => Cow::Owned(parts.join("; ")),
        Some(cause) => Cow::Owned(format!("{}; caused by {cause}", parts.join("; "))),
    }
}
