//! Stores whose files git tracks: such a store came with a clone, so others may have written it. Knows where
//! repositories keep their index (versions 2 to 4), and where the trust of a person is recorded: in the repository's
//! own directory, which is not part of a clone. git itself is not run, because a repository can configure programs
//! that it would start.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::files::io_at;
use crate::checkpoint::CheckpointError;

/// File in the repository's directory that lists the trusted contents.
const TRUSTED: &str = "superstep-trusted";

/// Files of a store that a repository tracks.
#[derive(Debug)]
pub(in crate::checkpoint) struct TrackedFiles {
    repository: PathBuf,
    /// For each file, the id of its tracked content and its path: changed contents have to be trusted again.
    files: Vec<String>,
}

impl TrackedFiles {
    /// Returns the files of a store that a surrounding repository tracks; `None` if there are none.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub(in crate::checkpoint) fn find(store: &Path) -> Result<Option<Self>, CheckpointError> {
        let Ok(store) = store.canonicalize() else { return Ok(None) };
        for tree in store.ancestors().skip(1) {
            let Some(repository) = repository(tree) else { continue };
            let Ok(path) = store.strip_prefix(tree) else { continue };
            let files = io_at(&repository, "read the index of the repository", list_tracked(&repository, path))?;
            if !files.is_empty() {
                return Ok(Some(Self { repository, files }));
            }
        }
        Ok(None)
    }

    pub(in crate::checkpoint) fn is_trusted(&self) -> bool {
        let trusted = fs::read_to_string(self.path()).unwrap_or_default();
        self.files.iter().all(|file| trusted.lines().any(|line| line == file))
    }

    /// Records that a person trusts the tracked contents.
    pub(in crate::checkpoint) fn trust(&self) -> Result<(), CheckpointError> {
        let text: String = self.files.iter().map(|file| format!("{file}\n")).collect();
        let path = self.path();
        let before = fs::read_to_string(&path).unwrap_or_default();
        io_at(&path, "write the file", fs::write(&path, before + &text))
    }

    fn path(&self) -> PathBuf {
        self.repository.join(TRUSTED)
    }
}

/// Returns the repository directory of this work tree.
fn repository(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    let found = fs::metadata(&git).ok()?;
    if found.is_dir() {
        return Some(git);
    }
    // A linked work tree, or a submodule.
    let text = fs::read_to_string(&git).ok()?;
    Some(tree.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Returns the tracked files under a path, in the form in which they are recorded once trusted.
fn list_tracked(repository: &Path, path: &Path) -> io::Result<Vec<String>> {
    let path = bytes(path);
    let mut found = vec![];
    for index in find_indexes(repository)? {
        match parse_index(&fs::read(&index)?) {
            Some(all) => found.extend(all.iter().filter(|entry| is_under(entry, &path)).map(line)),
            // The index has a later version: unknown if it tracks the store.
            None => found.push(format!("unknown {}", String::from_utf8_lossy(&path).escape_debug())),
        }
    }
    Ok(found)
}

/// Returns the files of an index, including the shared part of a split index.
fn find_indexes(repository: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in fs::read_dir(repository)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "index" || name.to_string_lossy().starts_with("sharedindex.") {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn is_under(entry: &Entry, path: &[u8]) -> bool {
    let begins = |long: &[u8], short: &[u8]| long.get(..short.len()).is_some_and(|it| it.eq_ignore_ascii_case(short));
    let folder = [path, b"/"].concat();
    let is_folder = entry.path.ends_with(b"/");
    begins(&entry.path, &folder) || (is_folder && begins(&folder, &entry.path))
}

fn line(entry: &Entry) -> String {
    let id = superstep_base::text::hex(&entry.id);
    format!("{id} {}", String::from_utf8_lossy(&entry.path).escape_debug())
}

#[cfg(unix)]
fn bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

/// A tracked file, or a folder of them in a sparse index.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// Path from the root of the work tree; a folder ends with a slash.
    path: Vec<u8>,
    /// Id of the content.
    id: Vec<u8>,
}

/// Length of the stat fields before the id of an entry.
const STAT: usize = 40;
/// Flag of an entry with two extra bytes of flags.
const EXTENDED: u16 = 0x4000;
/// Bits of the flags that hold the length of the path; also the greatest length they can express.
const LENGTH: u16 = 0x0fff;

/// Parses the names and ids of a git index; `None` if it is malformed.
fn parse_index(index: &[u8]) -> Option<Vec<Entry>> {
    // SHA-1 or SHA-256: only with the right one do the path lengths match the entries.
    [20, 32].into_iter().find_map(|id| parse_entries(index, id))
}

fn parse_entries(index: &[u8], id: usize) -> Option<Vec<Entry>> {
    let rest = index.strip_prefix(b"DIRC")?;
    let (version, rest) = take_u32(rest)?;
    let (count, mut rest) = take_u32(rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found: Vec<Entry> = vec![];
    for _ in 0..count {
        let before = found.last().map_or(&[][..], |entry| &entry.path);
        let (entry, length) = parse_entry(rest, id, version, before)?;
        rest = rest.get(length..)?;
        found.push(entry);
    }
    Some(found)
}

/// Parses the entry at the start of `bytes`; returns it with its length.
fn parse_entry(bytes: &[u8], id: usize, version: u32, before: &[u8]) -> Option<(Entry, usize)> {
    let flags = u16::from_be_bytes(*bytes.get(STAT + id..)?.first_chunk()?);
    let extended = if flags & EXTENDED != 0 { 2 } else { 0 };
    let start = STAT + id + 2 + extended;
    let (kept, name) = if version == 4 { parse_shared_prefix(bytes.get(start..)?, before)? } else { (&[][..], start) };
    let name = if version == 4 { start + name } else { name };
    let end = name + bytes.get(name..)?.iter().position(|&byte| byte == 0)?;
    let path = [kept, &bytes[name..end]].concat();
    let claimed = usize::from(flags & LENGTH);
    if path.len() != claimed && (claimed != usize::from(LENGTH) || path.len() < claimed) {
        return None;
    }
    let length = if version == 4 { end + 1 } else { end + 8 - end % 8 };
    Some((Entry { path, id: bytes[STAT..STAT + id].to_vec() }, length))
}

/// Parses how many bytes of the previous path are dropped; returns the remaining prefix and the number of bytes read.
fn parse_shared_prefix<'a>(bytes: &[u8], before: &'a [u8]) -> Option<(&'a [u8], usize)> {
    let (mut number, mut length) = (0_usize, 0);
    loop {
        let byte = *bytes.get(length)?;
        number = number.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        length += 1;
        if byte & 0x80 == 0 {
            return Some((before.get(..before.len().checked_sub(number)?)?, length));
        }
        number = number.checked_add(1)?;
    }
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, version in 0_u8..6, count in 0_u8..4) {
            parse_index(&bytes);
            parse_index(&[&b"DIRC\0\0\0"[..], &[version, 0, 0, 0, count], &bytes].concat());
        }
    }
}
