//! Stores whose files git tracks: such a store came with a clone, so others may have written it. Knows where
//! repositories keep their index, and where the trust of a person is recorded: in the repository's own directory, which
//! is not part of a clone.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::files::io_at;
use super::git_index::{Entry, entries};
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
            let files = io_at(&repository, "read the index of the repository", tracked(&repository, path))?;
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
fn tracked(repository: &Path, path: &Path) -> io::Result<Vec<String>> {
    let path = bytes(path);
    let mut found = vec![];
    for index in indexes(repository)? {
        match entries(&fs::read(&index)?) {
            Some(all) => found.extend(all.iter().filter(|entry| is_under(entry, &path)).map(line)),
            // The index has a later version: unknown if it tracks the store.
            None => found.push(format!("unknown {}", String::from_utf8_lossy(&path).escape_debug())),
        }
    }
    Ok(found)
}

/// Returns the files of an index, including the shared part of a split index.
fn indexes(repository: &Path) -> io::Result<Vec<PathBuf>> {
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
    let id: String = entry.id.iter().map(|byte| format!("{byte:02x}")).collect();
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
