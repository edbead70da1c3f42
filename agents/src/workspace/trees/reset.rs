//! Sets the files of the work tree to those of a tree. A reset never touches ignored, excluded and left-out files. A
//! fast-forward of the run's branch in the user's checkout updates files before the branch, the branch before the
//! index, each file atomically: after a kill at any moment, the same call finishes the work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use async_recursion::async_recursion as boxed;
use git2::{Delta, DiffOptions, Repository, Tree};
use serde::{Deserialize, Serialize};
use superstep_base::gather;

use super::index::Scratch;
use crate::workspace::branches::Head;
use crate::workspace::error::WorkspaceError;
use crate::workspace::git_locks::with_locks;
use crate::workspace::id::{CommitId, TreeId};
use crate::workspace::place::{Fault, RepoPath, Workspace, as_bytes, as_path, lossy_path, tree, with_zeros};

/// Result of a reset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetResult {
    /// Snapshot before the reset, from which everything can be restored.
    pub from: TreeId,
    /// Files removed.
    pub removed: Vec<String>,
    /// Files written.
    pub written: Vec<String>,
}

/// Changes from one tree to another.
#[derive(Debug, Default)]
pub(in crate::workspace) struct FileChanges {
    removed: Vec<RepoPath>,
    /// Files that do not exist before.
    new: Vec<RepoPath>,
    changed: Vec<RepoPath>,
}

impl FileChanges {
    pub(in crate::workspace) fn all(&self) -> impl Iterator<Item = &RepoPath> {
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
    #[boxed]
    pub async fn reset_to(&self, to: &TreeId) -> Result<ResetResult, WorkspaceError> {
        let reset = self.reset_files(to).await?;
        self.reset_index().await?;
        Ok(reset)
    }

    /// Like [`reset_to`](Self::reset_to), but leaves the index alone: for files that are about to be committed, or that
    /// are HEAD's.
    ///
    /// # Errors
    /// Those of [`reset_to`](Self::reset_to).
    #[boxed]
    pub async fn reset_files(&self, to: &TreeId) -> Result<ResetResult, WorkspaceError> {
        self.ensure_ready().await?;
        let from = self.snapshot().await?.tree;
        let steps = self.steps(&from, to).await?;
        self.ensure_free(&steps)?;
        self.apply_steps(from, to, steps).await
    }

    pub(in crate::workspace) async fn steps(&self, from: &TreeId, to: &TreeId) -> Result<FileChanges, WorkspaceError> {
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
    pub(in crate::workspace) fn ensure_free(&self, steps: &FileChanges) -> Result<(), WorkspaceError> {
        let is_there = |file: &&RepoPath| {
            let path = self.0.root.join(as_path(file));
            path.symlink_metadata().is_ok() && !steps.removed.iter().any(|gone| makes_room(gone, file))
        };
        let files: Vec<_> = steps.new.iter().filter(is_there).map(|file| lossy_path(file)).collect();
        if files.is_empty() { Ok(()) } else { Err(WorkspaceError::InTheWay { files }) }
    }

    pub(in crate::workspace) async fn apply_steps(
        &self,
        from: TreeId,
        to: &TreeId,
        steps: FileChanges,
    ) -> Result<ResetResult, WorkspaceError> {
        let FileChanges { removed, new, changed } = steps;
        let written = [new, changed].concat();
        let gone = removed.clone();
        self.read("remove files", move |_, place| Ok(remove(&place.root, &gone)?)).await?;
        if !written.is_empty() {
            self.write_files(&self.scratch_of(to).await?, &written).await?;
        }
        let names = |files: &[RepoPath]| files.iter().map(|file| lossy_path(file)).collect();
        Ok(ResetResult { from, removed: names(&removed), written: names(&written) })
    }

    /// Writes files with git, so that filters and line endings are those of a checkout.
    async fn write_files(&self, scratch: &Scratch, files: &[RepoPath]) -> Result<(), WorkspaceError> {
        let write = self.git(&["checkout-index", "--force", "-z", "--stdin"]).input(with_zeros(files));
        write.with_index(scratch.path()).output().await.map(drop)
    }
}

/// Returns whether removing `gone` frees the path of `file`: they are equal, or one is a folder above the other.
fn makes_room(gone: &[u8], file: &[u8]) -> bool {
    let is_below = |inner: &[u8], outer: &[u8]| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(b"/"));
    gone == file || is_below(gone, file) || is_below(file, gone)
}

fn steps(repository: &Repository, from: &TreeId, to: &TreeId) -> Result<FileChanges, Fault> {
    let (from, to) = (tree(repository, from)?, tree(repository, to)?);
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let diff = repository.diff_tree_to_tree(Some(&from), Some(&to), Some(&mut options))?;
    let mut steps = FileChanges::default();
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
fn remove(root: &Path, files: &[RepoPath]) -> Result<(), WorkspaceError> {
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

impl Workspace {
    /// Moves the current branch forward from one commit to a later one, and updates the files that differ between them.
    /// All other changes remain, staged ones too. No hook runs. Repeating the call after a kill has the same result.
    /// Returns the files.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is not on the branch at `from` (or at `to`, after a
    /// kill), [`NotForward`](WorkspaceError::NotForward) if `to` is not a descendant of `from`,
    /// [`InTheWay`](WorkspaceError::InTheWay) if one of the files has changes that are in neither commit: nothing was
    /// changed.
    #[boxed]
    pub async fn advance(&self, branch: &str, from: &CommitId, to: &CommitId) -> Result<Vec<String>, WorkspaceError> {
        self.ensure_ready().await?;
        let has_moved = self.has_moved(branch, from, to).await?;
        if !self.descends(to, from).await? {
            return Err(WorkspaceError::NotForward { from: from.clone(), to: to.clone() });
        }
        let (before, after) = (self.tree_of(from).await?, self.tree_of(to).await?);
        let steps = self.steps(&before, &after).await?;
        if !has_moved {
            self.ensure_unchanged(&before, &after, &steps).await?;
            self.update_files(&after, &steps).await?;
            self.move_branch(branch, from, to).await?;
        }
        self.update_index(&before, &after).await?;
        let mut files: Vec<_> = steps.all().map(|file| lossy_path(file)).collect();
        files.sort();
        Ok(files)
    }

    /// Checks HEAD, and returns whether the branch is at `to` already: then only the index may be outdated.
    async fn has_moved(&self, branch: &str, from: &CommitId, to: &CommitId) -> Result<bool, WorkspaceError> {
        let found = self.head().await?;
        let at = |commit: &CommitId| Head::Branch { name: branch.to_owned(), commit: commit.clone() };
        if found == at(from) || found == at(to) {
            return Ok(found == at(to));
        }
        Err(WorkspaceError::HeadElsewhere { expected: at(from).to_string(), found: found.to_string() })
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if it does not exist.
    #[boxed]
    pub async fn tree_of(&self, commit: &CommitId) -> Result<TreeId, WorkspaceError> {
        let commit = commit.clone();
        self.objects("read a commit", move |repository, _| {
            let found = repository.find_commit(commit.oid()?).map_err(|_| commit.missing())?;
            Ok(found.tree_id().into())
        })
        .await
    }

    /// Returns the first parent of a commit, if it has one.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the commit does not exist.
    #[boxed]
    pub async fn parent_of(&self, commit: &CommitId) -> Result<Option<CommitId>, WorkspaceError> {
        let commit = commit.clone();
        self.objects("read a commit", move |repository, _| {
            let found = repository.find_commit(commit.oid()?).map_err(|_| commit.missing())?;
            Ok(found.parent_ids().next().map(CommitId::from))
        })
        .await
    }

    /// Checks that each file matches one of the two trees, also if git ignores it.
    async fn ensure_unchanged(
        &self,
        before: &TreeId,
        after: &TreeId,
        steps: &FileChanges,
    ) -> Result<(), WorkspaceError> {
        let files: BTreeSet<RepoPath> = gather(steps.all().cloned());
        let found = self.run_blocking(move |place| by_state(&place.root, &files)).await?;
        let scratch = self.scratch_of(before).await?;
        self.unstage(&scratch, &found.missing).await?;
        self.stage(&scratch, &found.there).await?;
        let now = self.write_tree(&scratch).await?;
        let trees = [now, before.clone(), after.clone()];
        let checked = [found.missing, found.there].concat();
        let changed =
            self.objects("compare files", move |repository, _| unmatched_files(repository, trees, checked)).await?;
        let mut files: Vec<_> = found.blocked.iter().chain(&changed).map(|file| lossy_path(file)).collect();
        files.sort();
        if files.is_empty() { Ok(()) } else { Err(WorkspaceError::InTheWay { files }) }
    }

    /// Updates the files: `.gitattributes` first, because they affect how others are written.
    async fn update_files(&self, to: &TreeId, steps: &FileChanges) -> Result<(), WorkspaceError> {
        let gone = steps.removed.clone();
        self.run_blocking(move |place| remove(&place.root, &removable_files(&place.root, gone))).await??;
        let written = steps.new.iter().chain(&steps.changed).cloned();
        let (attributes, others): (Vec<_>, Vec<_>) = written.partition(|file| file.ends_with(b".gitattributes"));
        self.replace_files(to, attributes).await?;
        self.replace_files(to, others).await
    }

    /// Checks files out into a temporary folder and moves them into place one by one, so that none is ever partial.
    async fn replace_files(&self, to: &TreeId, files: Vec<RepoPath>) -> Result<(), WorkspaceError> {
        if files.is_empty() {
            return Ok(());
        }
        let folder = self.run_blocking(|place| staging_folder(&place.root)).await??;
        let scratch = self.scratch_of(to).await?;
        let mut prefix = folder.clone().into_os_string();
        prefix.push("/");
        let mut option = std::ffi::OsString::from("--prefix=");
        option.push(prefix);
        let write = self.git(&["checkout-index", "--force", "-z", "--stdin"]).arg(option).input(with_zeros(&files));
        write.with_index(scratch.path()).output().await?;
        self.run_blocking(move |place| {
            let moved = files.iter().try_for_each(|file| move_in(&folder, &place.root, file));
            // Leftovers are removed next time.
            let _ = fs::remove_dir_all(&folder);
            moved
        })
        .await?
    }

    async fn move_branch(&self, branch: &str, from: &CommitId, to: &CommitId) -> Result<(), WorkspaceError> {
        let (reference, from, to) = (format!("refs/heads/{branch}"), from.clone(), to.clone());
        self.read("move the branch", move |repository, place| {
            with_locks(place, &[&reference], || {
                repository.reference_matching(&reference, to.oid()?, true, from.oid()?, "superstep: advance")?;
                Ok(())
            })
        })
        .await
    }

    /// Sets the index entries of the differing files to those of HEAD; other staged changes remain.
    async fn update_index(&self, before: &TreeId, after: &TreeId) -> Result<(), WorkspaceError> {
        let (before, after) = (before.clone(), after.clone());
        let files = self.objects("compare two trees", move |repository, _| {
            differing_files(repository, &tree(repository, &before)?, &tree(repository, &after)?)
        });
        let (files, scratch) = (files.await?, self.scratch().await?);
        self.as_in_head(&scratch, files).await?;
        self.put_index(scratch).await
    }
}

/// Files of the work tree, by state.
#[derive(Default)]
struct FileStates {
    missing: Vec<RepoPath>,
    there: Vec<RepoPath>,
    /// The path, or a folder above it, is something other than a file.
    blocked: Vec<RepoPath>,
}

/// Sorts files by state. A file may be where a folder was, and vice versa, if both are among the files.
fn by_state(root: &Path, files: &BTreeSet<RepoPath>) -> FileStates {
    let mut found = FileStates::default();
    let is_one = |path: &Path| path.strip_prefix(root).is_ok_and(|path| files.contains(&as_bytes(path)));
    for file in files.iter().cloned() {
        let path = root.join(as_path(&file));
        let above = path.ancestors().skip(1).take_while(|folder| *folder != root);
        let is_blocked = above
            .filter_map(|folder| Some((folder, folder.symlink_metadata().ok()?)))
            .any(|(folder, about)| !about.is_dir() && !is_one(folder));
        match path.symlink_metadata() {
            _ if is_blocked => found.blocked.push(file),
            Err(_) => found.missing.push(file),
            Ok(about) if !about.is_dir() => found.there.push(file),
            Ok(_) if holds_only(&path, &is_one) => found.missing.push(file),
            Ok(_) => found.blocked.push(file),
        }
    }
    found
}

/// Returns whether all files below a folder satisfy `is_such`.
fn holds_only(folder: &Path, is_such: &impl Fn(&Path) -> bool) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.filter_map(Result::ok).map(|entry| entry.path()).all(|path| {
        let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
        if is_folder { holds_only(&path, is_such) } else { is_such(&path) }
    })
}

/// Returns the files that match neither tree.
fn unmatched_files(
    repository: &Repository,
    [now, before, after]: [TreeId; 3],
    files: Vec<RepoPath>,
) -> Result<Vec<RepoPath>, Fault> {
    let (now, before, after) = (tree(repository, &now)?, tree(repository, &before)?, tree(repository, &after)?);
    let is_changed = |file: &RepoPath| {
        let found = entry(&now, file);
        found != entry(&before, file) && found != entry(&after, file)
    };
    Ok(files.into_iter().filter(is_changed).collect())
}

/// Returns mode and id of a file; `None` for a folder.
fn entry(tree: &Tree<'_>, file: &RepoPath) -> Option<(i32, git2::Oid)> {
    let entry = tree.get_path(&as_path(file)).ok()?;
    (entry.kind() != Some(git2::ObjectType::Tree)).then(|| (entry.filemode(), entry.id()))
}

/// Returns all files that differ between two trees.
pub(in crate::workspace) fn differing_files(
    repository: &Repository,
    from: &Tree<'_>,
    to: &Tree<'_>,
) -> Result<Vec<RepoPath>, Fault> {
    let diff = repository.diff_tree_to_tree(Some(from), Some(to), None)?;
    let path = |delta: git2::DiffDelta<'_>| {
        delta.new_file().path_bytes().or(delta.old_file().path_bytes()).map(<[u8]>::to_vec)
    };
    Ok(diff.deltas().filter_map(path).collect())
}

/// Returns an empty temporary folder on the file system of the work tree, ignored by git.
fn staging_folder(root: &Path) -> Result<PathBuf, WorkspaceError> {
    let folder = root.join(".superstep").join("advance");
    let failed = |source| WorkspaceError::Io { doing: "write", path: folder.clone(), source };
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

/// Leaves out files whose path is taken by a file of the later commit.
fn removable_files(root: &Path, files: Vec<RepoPath>) -> Vec<RepoPath> {
    let is_removable = |file: &RepoPath| match root.join(as_path(file)).symlink_metadata() {
        Ok(about) => !about.is_dir(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    files.into_iter().filter(is_removable).collect()
}

fn move_in(folder: &Path, root: &Path, file: &RepoPath) -> Result<(), WorkspaceError> {
    let (from, to) = (folder.join(as_path(file)), root.join(as_path(file)));
    let moved = fs::create_dir_all(to.parent().unwrap_or(root)).and_then(|()| fs::rename(from, &to));
    moved.map_err(|source| WorkspaceError::Io { doing: "write", path: to, source })
}
