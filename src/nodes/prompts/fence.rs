//! Fenced text in a prompt.

/// Fences text as a block of data, with more backticks than its longest run.
pub(super) fn fenced(kind: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    format!("{fence}{kind}\n{text}{newline}{fence}")
}
