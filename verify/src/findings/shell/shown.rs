//! Excerpts of an output for people.

use crate::findings::text;

/// The maximum number of lines of an excerpt.
const LINES: usize = 20;
/// The maximum number of bytes of an excerpt.
const BYTES: usize = 2000;
/// The number of last lines that are shown if no cause is known.
const TAIL: usize = 5;
/// The number of last lines that are searched for them.
const BACK: usize = 200;
/// The maximum number of lines and bytes of the end of an output.
const END: (usize, usize) = (40, 4000);

/// Returns the lines as an excerpt, without their common indentation.
pub(super) fn excerpt(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).take(LINES).collect();
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect();
    text::clipped(lines.join("\n").trim_end(), BYTES)
}

/// Returns the last non-blank lines, of standard error if it has any.
pub(super) fn tail<'a>(stdout: &'a str, stderr: &'a str) -> Vec<&'a str> {
    match last_words(stderr) {
        tail if tail.is_empty() => last_words(stdout),
        tail => tail,
    }
}

fn last_words(text: &str) -> Vec<&str> {
    let has_words = |line: &&str| line.contains(char::is_alphabetic);
    let mut lines: Vec<&str> = text.lines().rev().take(BACK).filter(has_words).take(TAIL).map(str::trim_end).collect();
    lines.reverse();
    lines
}

/// Returns the end of an output.
pub(super) fn end(lines: &[&str]) -> String {
    let (most, bytes) = END;
    let last = &lines[lines.len().saturating_sub(most)..];
    let text = last.join("\n");
    let text = text.trim();
    let from = (text.len().saturating_sub(bytes)..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[from..].to_owned()
}
