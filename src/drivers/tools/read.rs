//! `read`: a file as text.

use super::path::Inside;
use super::root::Root;
use super::{Refused, ToolLimits};

/// How far a file is looked at to tell whether it is text.
const LOOKED_AT: usize = 8 * 1024;

/// Returns a text file; what is beyond the longest answer is cut, and said.
pub(super) fn read(root: &Root, at: &Inside, limits: &ToolLimits) -> Result<String, Refused> {
    let bytes = root.read(at, limits.file)?;
    if is_binary(&bytes) {
        return Err(Refused::new(format!("`{at}` is binary, {} bytes", bytes.len())));
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        format!("{text}\n[not UTF-8: some characters are replaced]")
    }))
}

/// Whether bytes are no text. Git: `buffer_is_binary`.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}
