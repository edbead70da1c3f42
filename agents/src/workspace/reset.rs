//! Resets the files of the work tree to a tree. Ignored, excluded and left-out files are never touched.

use std::path::Path;
use std::{fs, io};

use git2::{Delta, DiffOptions, Repository};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::index::Scratch;
use super::objects::tree;
use super::paths::{RepoPath, as_path, shown, with_zeros};
use super::place::{Fault, Workspace};

/// Result of a reset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// Snapshot before the reset, from which everything can be restored.
    pub from: TreeId,
    /// Files removed.
    pub removed: Vec<String>,
    /// Files written.
    pub written: Vec<String>,
}

/// Changes from one tree to another.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) removed: Vec<RepoPath>,
    /// Files that do not exist before.
    pub(super) new: Vec<RepoPath>,
    pub(super) changed: Vec<RepoPath>,
}

impl Steps {
    pub(super) fn all(&self) -> impl Iterator<Item = &RepoPath> {
        self.removed.iter().chain(&self.new).chain(&self.changed)
    }
}

impl Workspace {
    /// Resets the files to a tree, such as that of the start of a task: files that are in a snapshot but not in the
    /// tree are removed; ignored files remain. HEAD does not move. The index is reset to HEAD.
    ///
    /// # Errors
    /// [`InTheWay`](WorkspaceError::InTheWay) if a file that is in no snapshot would be overwritten: nothing was
    /// changed. [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree does not exist.
    pub async fn reset_to(&self, to: &TreeId) -> Result<Reset, WorkspaceError> {
        let reset = self.reset_files(to).await?;
        self.reset_index().await?;
        Ok(reset)
    }

    /// Like [`reset_to`](Self::reset_to), but leaves the index alone: for files that are about to be committed, or that
    /// are HEAD's.
    ///
    /// # Errors
    /// Those of [`reset_to`](Self::reset_to).
    pub async fn reset_files(&self, to: &TreeId) -> Result<Reset, WorkspaceError> {
        self.ensure_ready().await?;
        let from = self.snapshot().await?.tree;
        let steps = self.steps(&from, to).await?;
        self.ensure_free(&steps)?;
        self.go(from, to, steps).await
    }

    pub(super) async fn steps(&self, from: &TreeId, to: &TreeId) -> Result<Steps, WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, place| {
            let mut steps = steps(repository, &from, &to)?;
            for files in [&mut steps.removed, &mut steps.new, &mut steps.changed] {
                files.retain(|file| !place.is_apart(file));
            }
            Ok(steps)
        })
        .await
    }

    /// Checks that new files do not overwrite files that are in no snapshot.
    pub(super) fn ensure_free(&self, steps: &Steps) -> Result<(), WorkspaceError> {
        let is_there = |file: &&RepoPath| {
            let path = self.0.root.join(as_path(file));
            path.symlink_metadata().is_ok() && !steps.removed.iter().any(|gone| makes_room(gone, file))
        };
        let files: Vec<_> = steps.new.iter().filter(is_there).map(|file| shown(file)).collect();
        if files.is_empty() { Ok(()) } else { Err(WorkspaceError::InTheWay { files }) }
    }

    pub(super) async fn go(&self, from: TreeId, to: &TreeId, steps: Steps) -> Result<Reset, WorkspaceError> {
        let Steps { removed, new, changed } = steps;
        let written = [new, changed].concat();
        let gone = removed.clone();
        self.read("remove files", move |_, place| Ok(remove(&place.root, &gone)?)).await?;
        if !written.is_empty() {
            self.write_files(&self.scratch_of(to).await?, &written).await?;
        }
        let names = |files: &[RepoPath]| files.iter().map(|file| shown(file)).collect();
        Ok(Reset { from, removed: names(&removed), written: names(&written) })
    }

    /// Writes files with git, so that filters and line endings are those of a checkout.
    async fn write_files(&self, scratch: &Scratch, files: &[RepoPath]) -> Result<(), WorkspaceError> {
        let write = self.git(&["checkout-index", "--force", "-z", "--stdin"]).input(with_zeros(files));
        write.on(scratch.path()).done().await.map(drop)
    }
}

/// Returns whether removing `gone` frees the path of `file`: they are equal, or one is a folder above the other.
fn makes_room(gone: &[u8], file: &[u8]) -> bool {
    let is_below = |inner: &[u8], outer: &[u8]| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(b"/"));
    gone == file || is_below(gone, file) || is_below(file, gone)
}

fn steps(repository: &Repository, from: &TreeId, to: &TreeId) -> Result<Steps, Fault> {
    let (from, to) = (tree(repository, from)?, tree(repository, to)?);
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let diff = repository.diff_tree_to_tree(Some(&from), Some(&to), Some(&mut options))?;
    let mut steps = Steps::default();
    for delta in diff.deltas() {
        let is_submodule = |mode| mode == git2::FileMode::Commit;
        if is_submodule(delta.old_file().mode()) || is_submodule(delta.new_file().mode()) {
            continue;
        }
        let path = delta.new_file().path_bytes().or(delta.old_file().path_bytes()).unwrap_or_default().to_vec();
        match delta.status() {
            Delta::Deleted => steps.removed.push(path),
            Delta::Added => steps.new.push(path),
            _ => steps.changed.push(path),
        }
    }
    Ok(steps)
}

/// Removes files, and folders that become empty.
pub(super) fn remove(root: &Path, files: &[RepoPath]) -> Result<(), WorkspaceError> {
    for file in files {
        let path = root.join(as_path(file));
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(WorkspaceError::Io { doing: "remove", path, source });
            }
            Ok(()) | Err(_) => {}
        }
        let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root) && *folder != root);
        // Stops at the first folder that is not empty.
        let _ = folders.map(fs::remove_dir).find(Result::is_err);
    }
    Ok(())
}

/// Returns the names of all files that differ between two trees.
pub(super) fn differing(
    repository: &Repository,
    from: &git2::Tree<'_>,
    to: &git2::Tree<'_>,
) -> Result<Vec<String>, Fault> {
    let diff = repository.diff_tree_to_tree(Some(from), Some(to), None)?;
    let name = |delta: git2::DiffDelta<'_>| delta.new_file().path_bytes().or(delta.old_file().path_bytes()).map(shown);
    Ok(diff.deltas().filter_map(name).collect())
}
