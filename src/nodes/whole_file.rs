//! Small files that are written as a whole.

use std::path::Path;

/// Writes a small file in one step: a reader finds all of it, or nothing.
pub(super) fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let draft = file.with_extension("draft");
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, file)
}
