//! Tool `read`: a file as text.

use super::limits::ToolLimits;
use super::path::RelativePath;
use super::refusal::Refusal;
use super::root::Root;
use super::text::beginning;

/// Number of bytes examined to detect binary files.
const SNIFFED_BYTES: usize = 8 * 1024;

/// Space for the note that a text was cut.
const NOTE: usize = 100;

/// Returns a text file from a line on; anything beyond the maximum length is cut, with a note.
pub(super) fn read(root: &Root, at: &RelativePath, line: usize, limits: &ToolLimits) -> Result<String, Refusal> {
    let bytes = root.read(at, limits.file)?;
    if is_binary(&bytes) {
        return Err(Refusal::new(format!("`{at}` is binary, {} bytes", bytes.len())));
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        format!("{text}\n[not UTF-8: some characters are replaced]")
    });
    from_line(text, line, limits.answer).map_err(|lines| Refusal::new(format!("`{at}` has {lines} lines")))
}

/// Returns the text from a line on, counted from 1: whole lines, and a note where to continue. The error is the number
/// of lines.
fn from_line(text: String, line: usize, most: usize) -> Result<String, usize> {
    let starts = || std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let line = line.max(1);
    let start = starts().nth(line - 1).filter(|start| *start < text.len() || line == 1);
    let rest = &text[start.ok_or_else(|| text.lines().count())?..];
    if rest.len() <= most {
        return Ok(rest.to_owned());
    }
    let shown = beginning(rest, most.saturating_sub(NOTE));
    let shown = shown.rfind('\n').map_or(shown, |end| &shown[..=end]);
    let next = line + shown.matches('\n').count().max(1);
    Ok(format!("{shown}\n[cut here: {} of {} bytes; to read on, `line` is {next}]", shown.len(), rest.len()))
}

/// Returns whether bytes are binary. Git: `buffer_is_binary`.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0)
}
