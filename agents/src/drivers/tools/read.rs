//! `read`: a file as text.

use super::limits::ToolLimits;
use super::path::Inside;
use super::refused::Refused;
use super::root::Root;
use super::text::beginning;

/// How far a file is looked at to tell whether it is text.
const LOOKED_AT: usize = 8 * 1024;

/// Room for the note that a text is cut.
const NOTE: usize = 100;

/// Returns a text file, from a line on; what is beyond the longest answer is cut, and said.
pub(super) fn read(root: &Root, at: &Inside, line: usize, limits: &ToolLimits) -> Result<String, Refused> {
    let bytes = root.read(at, limits.file)?;
    if is_binary(&bytes) {
        return Err(Refused::new(format!("`{at}` is binary, {} bytes", bytes.len())));
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        format!("{text}\n[not UTF-8: some characters are replaced]")
    });
    from_line(text, line, limits.answer).map_err(|lines| Refused::new(format!("`{at}` has {lines} lines")))
}

/// What of a text is shown that begins at a line, from 1: whole lines, and where to read on. Fails with how many lines there are.
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

/// Whether bytes are no text. Git: `buffer_is_binary`.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}
