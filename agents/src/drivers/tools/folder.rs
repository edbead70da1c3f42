//! Tool `list`, and directory listings for other tools. Follows no link.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::limits::ToolLimits;
use super::path::{RelativePath, is_reserved};
use super::refusal::Refusal;
use super::root::{Root, failed};
use super::text::short;

/// Maximum number of entries read from a folder.
const MAX_ENTRIES: usize = 100_000;

/// Entry of a folder.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: FileType,
}

/// Returns the names in a folder, sorted, one per line: `src/`, `link@`, `a.rs`.
pub(super) fn list(root: &Root, at: &RelativePath, limits: &ToolLimits) -> Result<String, Refusal> {
    let folder = root.folder(at.names())?;
    let entries = entries(folder.as_fd(), &at.to_string())?;
    let mut lines: Vec<String> = entries.iter().take(limits.entries).map(line).collect();
    match entries.len().saturating_sub(limits.entries) {
        0 if lines.is_empty() => lines.push("[empty]".to_owned()),
        0 => {}
        more => lines.push(format!("[{more} more]")),
    }
    Ok(lines.join("\n"))
}

fn line(entry: &Entry) -> String {
    let mark = match entry.kind {
        FileType::RegularFile => "",
        FileType::Directory => "/",
        FileType::Symlink => "@",
        _ => "|",
    };
    format!("{}{mark}", short(&entry.name))
}

/// Returns the entries of an open folder, sorted by name, without reserved names and names that are not UTF-8.
pub(super) fn entries<F: AsFd>(folder: F, shown: &str) -> Result<Vec<Entry>, Refusal> {
    let refuse = |error| failed(shown, error);
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder).map_err(refuse)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(refuse)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if [".", ".."].contains(&name) || is_reserved(name) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        found.push(Entry { name: name.to_owned(), kind });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}
