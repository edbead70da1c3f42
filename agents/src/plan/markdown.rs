//! Text written as markdown that reads back as the same text. Pure; knows markdown and no plan.

use super::blocks::{self, Kind};

/// Returns a text of one line unchanged if `reads_back` accepts it, otherwise with every punctuation mark escaped.
pub(super) fn line(text: &str, reads_back: impl Fn(&str) -> bool) -> String {
    if reads_back(text) { text.to_owned() } else { escaped(text) }
}

/// True if the text reads back unchanged as a list item.
pub(super) fn is_plain_item(text: &str) -> bool {
    let blocks = blocks::blocks(&format!("- {text}\n"));
    let [block] = blocks.as_slice() else { return false };
    let Kind::List(list) = &block.kind else { return false };
    let [item] = list.items.as_slice() else { return false };
    match item.as_slice() {
        [only] => {
            matches!(&only.kind, Kind::Paragraph(lines) if matches!(lines.as_slice(), [one] if one.text() == text))
        }
        _ => false,
    }
}

fn escaped(text: &str) -> String {
    let escape = |c: char| if c.is_ascii_punctuation() { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escape).collect()
}

/// Returns a text on one line, with single spaces.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a fenced code block whose fence is longer than any in the text.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Returns a text of one line as a code span.
pub(super) fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let needs_room = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    if needs_room { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// Returns the text with every line end as a line feed.
pub(super) fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
