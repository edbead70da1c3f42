//! Git's folders of linked work trees, and the work trees that they name. Reads only.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::paths::{as_path, lexical};
use super::place::Place;

/// File in git's folder of a work tree, written once all files are checked out.
pub(super) const COMPLETE: &str = "superstep/complete";

/// Returns whether it is a work tree that was created by [`detached_worktree`](super::Workspace::detached_worktree).
pub(super) fn is_made_for_agents(place: &Place) -> bool {
    place.git_dir != place.common_dir && place.git_dir.join(COMPLETE).exists()
}

/// Returns git's folders of linked work trees.
pub(super) fn entries(place: &Place) -> Vec<PathBuf> {
    let all = fs::read_dir(place.common_dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    all.map(|entry| entry.path()).collect()
}

/// Returns git's folders of the work tree at `path`: one, unless a kill or an agent left more.
pub(super) fn entries_of(place: &Place, path: &Path) -> Vec<PathBuf> {
    entries(place).into_iter().filter(|entry| path_of(entry).as_deref() == Some(path)).collect()
}

/// Returns the work tree of a folder of git's.
pub(super) fn path_of(entry: &Path) -> Option<PathBuf> {
    let file = linked(entry, fs::read(entry.join("gitdir")).ok()?);
    (file.file_name() == Some(OsStr::new(".git"))).then(|| resolved(file.parent().unwrap_or(&file)))
}

/// Resolves a path in a file of git's, relative to the folder of the file.
pub(super) fn linked(folder: &Path, text: Vec<u8>) -> PathBuf {
    folder.join(as_path(text.trim_ascii_end()))
}

/// Resolves links in the existing folders above a path, and `..`.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let plain = lexical(path);
    let (Some(above), Some(name)) = (plain.parent(), plain.file_name()) else { return plain };
    match above.canonicalize() {
        Ok(above) => above.join(name),
        Err(_) => resolved(above).join(name),
    }
}
