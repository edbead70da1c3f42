//! Places in text: `src/main.rs:3:5`, `src/main.ts(3,5)`, and words for severities.

use superstep_base::text::start;

use super::diagnostic::Place;
use crate::findings::finding::Severity;

/// The maximum length of a path, in bytes.
const PATH: usize = 400;
/// Files without an extension.
const NAMES: [&str; 6] = ["Makefile", "makefile", "GNUmakefile", "Dockerfile", "Justfile", "BUILD"];
/// Top-level domains that look like extensions before a port.
const HOSTS: [&str; 7] = [".com", ".org", ".net", ".io", ".dev", ".local", ".internal"];

/// A place at the start of a text, and the rest after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeadingPlace<'a> {
    pub(super) place: Place<'a>,
    /// Set if a column follows the line.
    pub(super) has_column: bool,
    pub(super) rest: &'a str,
}

/// Reads a path with a line at the start of a text.
pub(super) fn leading_place(text: &str) -> Option<LeadingPlace<'_>> {
    let head = start(text, PATH);
    let mut from = if is_drive(head) { 2 } else { 0 };
    loop {
        let at = from + head[from..].find([':', '('])?;
        if head[at + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            return at_position(text, at);
        }
        if head[at..].starts_with("://") || head[..at].contains(['"', '=', '<', '{']) {
            return None;
        }
        from = at + 1;
    }
}

/// Reads a place at the end of a text or without a message, as in frames: `/a/b.js:3:5`.
pub(super) fn place(text: &str) -> Option<Place<'_>> {
    let text = text.trim().strip_prefix("file://").unwrap_or(text.trim());
    let located = leading_place(text)?;
    located.rest.trim_end_matches(')').is_empty().then_some(located.place)
}

fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

fn at_position(text: &str, at: usize) -> Option<LeadingPlace<'_>> {
    let (file, position) = (text[..at].trim_start(), &text[at..]);
    let (line, has_column, rest) = match position.strip_prefix('(') {
        Some(inside) => in_brackets(inside)?,
        None => after_colons(&position[1..])?,
    };
    let spaces = file.contains(' ');
    let is_file = is_file(file)
        && (!spaces || (severity(rest.trim_start_matches([':', ' '])).is_some() && file.starts_with('/')));
    is_file.then_some(LeadingPlace { place: Place { file, line }, has_column, rest })
}

/// Reads `3,5)` or `3)`.
fn in_brackets(inside: &str) -> Option<(u32, bool, &str)> {
    let (position, rest) = inside.split_once(')')?;
    let (line, column) = position.split_once(',').unwrap_or((position, ""));
    Some((line.parse().ok()?, !column.is_empty(), rest))
}

/// Reads `3:5`, `3`, `3:5-9`, and returns the rest.
fn after_colons(text: &str) -> Option<(u32, bool, &str)> {
    let (line, mut rest) = number(text)?;
    let mut has_column = false;
    while let Some((_, after)) = rest.strip_prefix([':', '-', '.']).and_then(number) {
        (has_column, rest) = (true, after);
    }
    Some((line, has_column, rest))
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Returns whether a text looks like the path of a file: it has an extension or a folder.
fn is_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let has_extension = extension.starts_with(|c: char| c.is_ascii_alphabetic()) && extension.len() < 12;
    let is_host = HOSTS.iter().any(|host| name.ends_with(host)) && name.len() == path.len();
    let is_plain = !path.contains(['"', '=', '<', '{', '[', '`', '|', ',', '*']) || path.contains("/[");
    is_plain && (has_extension || NAMES.contains(&name)) && !is_host && !name.starts_with('.')
}

/// Reads a severity at the start of a text, and returns the rest.
pub(super) fn severity(text: &str) -> Option<(Severity, &str)> {
    let text = text.strip_prefix("fatal ").unwrap_or(text);
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let severity = word(&text[..length])?;
    let rest = &text[length..];
    rest.starts_with([':', ' ', '[', '(', ',']).then_some((severity, rest))
}

fn word(word: &str) -> Option<Severity> {
    match word {
        "error" | "Error" | "ERROR" | "fatal" | "Fatal" | "FATAL" | "failure" => Some(Severity::Error),
        "warning" | "Warning" | "WARNING" | "warn" | "Warn" | "WARN" => Some(Severity::Warning),
        "note" | "Note" | "NOTE" | "info" | "Info" | "INFO" | "help" | "hint" | "remark" => Some(Severity::Info),
        _ => None,
    }
}
