//! Atomic writes of small files.

use std::path::Path;

/// Writes a small file atomically: a reader finds all of it, or nothing.
pub(super) fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let draft = file.with_extension("draft");
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, file)
}
