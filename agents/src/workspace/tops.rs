//! Tops of repositories: the folders with a `.git`. Reads nothing of git.

use std::path::{Component, Path, PathBuf};

use super::worktree_entries::resolved;

/// Folders of `.superstep` that hold work trees.
const OWN_TREES: [&str; 3] = ["forks", "rewind", "worktrees"];

/// Returns the top of the repository around a folder, which need not exist yet.
pub(super) fn top_of(folder: &Path) -> Option<PathBuf> {
    let folder = resolved(&std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
    let folder = folder.canonicalize().unwrap_or(folder);
    main_part(&folder).ancestors().find(|above| is_repository(above)).map(Path::to_owned)
}

/// Returns the repository in whose folder `.superstep` a work tree lies; others are returned as they are.
pub(super) fn main_part(folder: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = folder.components().collect();
    let is_own = |pair: &[Component<'_>]| {
        pair[0].as_os_str() == ".superstep" && OWN_TREES.iter().any(|own| pair[1].as_os_str() == *own)
    };
    match parts.windows(2).position(is_own) {
        Some(at) => parts[..at].iter().collect(),
        None => folder.to_owned(),
    }
}

pub(super) fn is_repository(top: &Path) -> bool {
    top.join(".git").exists()
}
