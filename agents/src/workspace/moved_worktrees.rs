//! Linked work trees of a repository that was moved or copied: git's folders name them by full paths, and they name git's.
//! Only those that were created for agents are changed, and nothing outside of the repository that belongs to another one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use superstep_base::moved::{Move, here};

use super::error::WorkspaceError;
use super::paths::as_bytes;
use super::relocation::Recorded;
use super::worktree_entries::{COMPLETE, common_of, entries_in, leads_to, main_part, tree_of};

/// Mends the links of a repository whose move was [noted](superstep_base::moved::note). Work trees inside of it were moved
/// with it; those outside get the new path of git's folder, unless another repository has them. Idempotent; blocks.
///
/// # Errors
/// [`Io`](WorkspaceError::Io) if a file cannot be written.
pub fn mend_worktrees(moved: &Move) -> Result<(), WorkspaceError> {
    mend_all(&moved.to, |tree| tree == moved.to)
}

/// Mends the work tree of a run that is where it was, but linked to a repository that was moved to where the store lies, or
/// the person is. Blocks.
///
/// # Errors
/// As [`mend_worktrees`].
pub fn mend_outside(run: &Recorded) -> Result<(), WorkspaceError> {
    let is_lost = leads_to(&run.folder).is_some_and(|entry| !entry.exists());
    let mut places = run.tops().into_iter().filter(|_| is_lost);
    places.try_for_each(|place| mend_all(&place, |tree| tree == run.folder))
}

fn mend_all(top: &Path, is_own: impl Fn(&Path) -> bool) -> Result<(), WorkspaceError> {
    let Some(common) = common_of(top) else { return Ok(()) };
    for entry in entries_in(&common) {
        let Some(stored) = tree_of(&entry) else { continue };
        let tree = moved_along(top, &stored, &entry).unwrap_or_else(|| here(&stored));
        if entry.join(COMPLETE).exists() || is_own(&tree) {
            mend(&entry, &stored, &tree)?;
        }
    }
    Ok(())
}

/// Returns the work tree if it lies in the folder `.superstep` of the repository, wherever that was when it was created.
fn moved_along(top: &Path, stored: &Path, entry: &Path) -> Option<PathBuf> {
    let inside = stored.strip_prefix(main_part(stored)).ok().filter(|inside| !inside.as_os_str().is_empty())?;
    let tree = top.join(inside);
    (leads_to(&tree)?.file_name() == entry.file_name()).then_some(tree)
}

/// Mends the links between git's folder for a work tree, and the work tree.
fn mend(entry: &Path, stored: &Path, tree: &Path) -> Result<(), WorkspaceError> {
    let Some(target) = leads_to(tree).filter(|target| target.file_name() == entry.file_name()) else { return Ok(()) };
    if stored != tree {
        write(entry, "", &tree.join(".git"), &entry.join("gitdir"))?;
    } else if target.exists() {
        return Ok(()); // it is whole, or belongs to the repository of which this is a copy
    }
    if target == entry { Ok(()) } else { write(entry, "gitdir: ", entry, &tree.join(".git")) }
}

/// Writes a path into a file of git's, at once. The draft is in git's folder, where it does no harm after a kill.
fn write(entry: &Path, before: &str, path: &Path, file: &Path) -> Result<(), WorkspaceError> {
    let (text, draft) = ([before.as_bytes(), &as_bytes(path), b"\n"].concat(), entry.join("superstep-link"));
    // A work tree may be on another disk.
    let written = fs::write(&draft, &text).and_then(|()| fs::rename(&draft, file).or_else(|_| fs::write(file, &text)));
    written.map_err(|source: io::Error| WorkspaceError::Io { doing: "write", path: file.to_owned(), source })
}
