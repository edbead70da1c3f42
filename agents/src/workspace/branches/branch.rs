//! Branch of a run, in place or in a linked work tree. The user's branch never moves.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use git2::Repository;

use super::fold::is_used_elsewhere;
use super::head::{Head, descends};
use super::standing::{BranchMove, BranchPositions};
use crate::workspace::error::WorkspaceError;
use crate::workspace::git_locks::with_locks;
use crate::workspace::id::CommitId;
use crate::workspace::lock_note::StoredNote;
use crate::workspace::place::{Fault, Place, Workspace};
use crate::workspace::references::{delete, find_branch};

/// The current branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnBranch {
    /// Its name.
    pub name: String,
    /// Commit of the branch; `None` if it has none yet.
    pub commit: Option<CommitId>,
    /// Set if it was created by this call.
    pub is_new: bool,
    /// HEAD before the call.
    pub before: Head,
}

impl Workspace {
    /// Switches HEAD to the branch `name`: a new one at HEAD's commit, or the existing one. `left_at` is its commit at
    /// the end of an earlier run; the branch may have grown since. Files change only if HEAD was elsewhere and has to
    /// be switched back.
    ///
    /// # Errors
    /// [`BranchTaken`](WorkspaceError::BranchTaken) if it exists, but neither at HEAD's commit nor at or after
    /// `left_at`. [`BadBranch`](WorkspaceError::BadBranch) if the name is invalid.
    /// [`GitFailed`](WorkspaceError::GitFailed) if switching back would overwrite changes.
    #[boxed]
    pub async fn own_branch(&self, name: &str, left_at: Option<&CommitId>) -> Result<OwnBranch, WorkspaceError> {
        self.ensure_ready().await?;
        let before = self.head().await?;
        let is_new = match self.branch_at(name).await? {
            None if before.branch() == Some(name) => false,
            None => {
                self.begin_branch(name, before.commit()).await?;
                true
            }
            Some(tip) => {
                self.ensure_ours(name, &tip, &before, left_at).await?;
                self.switch(name, &tip, &before).await?;
                false
            }
        };
        Ok(OwnBranch { name: name.to_owned(), commit: self.head().await?.commit().cloned(), is_new, before })
    }

    /// Opens the linked work tree at `path` on the branch `name`, and creates both, at HEAD's commit, if they do not
    /// exist. `path` is relative to the top of this work tree.
    ///
    /// # Errors
    /// [`PlaceTaken`](WorkspaceError::PlaceTaken) if something else is there,
    /// [`BranchTaken`](WorkspaceError::BranchTaken) as in [`own_branch`](Self::own_branch),
    /// [`NoCommitYet`](WorkspaceError::NoCommitYet) if there is nothing to check out.
    pub async fn own_worktree(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        left_at: Option<&CommitId>,
    ) -> Result<Self, WorkspaceError> {
        let path = self.0.root.join(path);
        if path.symlink_metadata().is_ok() && !is_empty(&path) {
            return self.open_worktree(path, name).await;
        }
        let before = self.head().await?;
        let Some(start) = before.commit() else {
            return Err(WorkspaceError::NoCommitYet { root: self.0.root.clone() });
        };
        let add = self.git(&["worktree", "add", "--quiet"]).with_locks(&[]);
        match self.branch_at(name).await? {
            Some(tip) => {
                self.ensure_ours(name, &tip, &before, left_at).await?;
                add.arg(&path).arg(name).output().await?;
            }
            None => {
                add.arg("-b").arg(name).arg(&path).arg(start.as_str()).output().await?;
            }
        }
        self.open_worktree(path, name).await
    }

    async fn open_worktree(&self, path: PathBuf, name: &str) -> Result<Self, WorkspaceError> {
        let taken = || WorkspaceError::PlaceTaken { path: path.clone(), branch: name.to_owned() };
        let there = Self::open_with(&path, self.0.options.clone()).await.map_err(|_| taken())?;
        let is_its_root = path.canonicalize().is_ok_and(|path| path == there.0.root);
        if !is_its_root || there.0.common_dir != self.0.common_dir || there.head().await?.branch() != Some(name) {
            return Err(taken());
        }
        Ok(there)
    }

    /// Returns the commit of a branch.
    ///
    /// # Errors
    /// [`BadBranch`](WorkspaceError::BadBranch) if the name is invalid.
    #[boxed]
    pub async fn branch_at(&self, name: &str) -> Result<Option<CommitId>, WorkspaceError> {
        let name = name.to_owned();
        self.objects("read a branch", move |repository, _| {
            if !git2::Branch::name_is_valid(&name).unwrap_or(false) {
                return Err(WorkspaceError::BadBranch { branch: name }.into());
            }
            Ok(find_branch(repository, &name)?.map(CommitId::from))
        })
        .await
    }

    /// Checks that a branch of this name can be created: the name is valid, and no branch that exists is its beginning,
    /// or begins with it and `/`. The branch itself may exist.
    ///
    /// # Errors
    /// [`BadBranch`](WorkspaceError::BadBranch), [`BranchInTheWay`](WorkspaceError::BranchInTheWay).
    #[boxed]
    pub async fn ensure_room_for(&self, name: &str) -> Result<(), WorkspaceError> {
        self.branch_at(name).await?;
        let name = name.to_owned();
        let other = self.objects("read the branches", {
            let name = name.clone();
            move |repository, _| in_the_way(repository, &name)
        });
        match other.await? {
            Some(other) => Err(WorkspaceError::BranchInTheWay { branch: name, other }),
            None => Ok(()),
        }
    }

    /// Creates a branch at a commit and switches to it. Conflicting changes are not overwritten.
    ///
    /// # Errors
    /// [`BranchTaken`](WorkspaceError::BranchTaken) if the branch exists. [`BadBranch`](WorkspaceError::BadBranch) if
    /// the name is invalid. [`GitFailed`](WorkspaceError::GitFailed) if git cannot switch.
    #[boxed]
    pub async fn new_branch(&self, name: &str, at: &CommitId) -> Result<(), WorkspaceError> {
        if let Some(commit) = self.branch_at(name).await? {
            return Err(WorkspaceError::BranchTaken { branch: name.to_owned(), commit });
        }
        let switch = self.git(&["switch", "--quiet", "--no-track", "--create"]).arg(name).arg(at.as_str());
        switch.with_locks(&["index", "HEAD"]).output().await.map(drop)
    }

    /// Removes a branch that is still at the commit at which it was created, unless a work tree is on it.
    ///
    /// # Errors
    /// [`BadBranch`](WorkspaceError::BadBranch) if the name is invalid.
    #[boxed]
    pub async fn remove_branch_at(&self, name: &str, at: &CommitId) -> Result<(), WorkspaceError> {
        if self.branch_at(name).await?.as_ref() != Some(at) {
            return Ok(());
        }
        let name = name.to_owned();
        self.objects("remove a branch", move |repository, place| {
            if is_used_elsewhere(place, &[], &name) {
                return Ok(());
            }
            delete(repository, place, &format!("refs/heads/{name}"))
        })
        .await
    }

    async fn begin_branch(&self, name: &str, at: Option<&CommitId>) -> Result<(), WorkspaceError> {
        let (reference, at) = (format!("refs/heads/{name}"), at.cloned());
        self.read("make a branch", move |repository, place| {
            if let Some(at) = at {
                let at = at.oid()?;
                with_locks(place, &[&reference], || {
                    Ok(repository.reference(&reference, at, false, "superstep: begin").map(drop)?)
                })?;
            }
            with_locks(place, &["HEAD"], || Ok(repository.set_head(&reference)?))
        })
        .await
    }

    async fn ensure_ours(
        &self,
        name: &str,
        tip: &CommitId,
        before: &Head,
        left_at: Option<&CommitId>,
    ) -> Result<(), WorkspaceError> {
        let is_ours = match left_at {
            Some(left_at) => self.descends(tip, left_at).await?,
            None => before.commit() == Some(tip),
        };
        let taken = || WorkspaceError::BranchTaken { branch: name.to_owned(), commit: tip.clone() };
        if is_ours { Ok(()) } else { Err(taken()) }
    }

    async fn switch(&self, name: &str, tip: &CommitId, before: &Head) -> Result<(), WorkspaceError> {
        if before.branch() == Some(name) {
            return Ok(());
        }
        if before.commit() == Some(tip) {
            let reference = format!("refs/heads/{name}");
            let switch = move |repository: &Repository, place: &Place| {
                with_locks(place, &["HEAD"], || Ok(repository.set_head(&reference)?))
            };
            return self.read("switch branches", switch).await;
        }
        self.git(&["switch", "--quiet", "--no-guess"]).arg(name).with_locks(&["index", "HEAD"]).output().await.map(drop)
    }

    /// Switches from the branch `own` back to where HEAD was. Returns why it stays there, if it does: git would overwrite
    /// changes, the other branch is gone, or the git of a killed run is still at work, which would commit to the branch that
    /// it finds. A HEAD that is elsewhere, or was on no commit, stays where it is.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if HEAD cannot be read.
    #[boxed]
    pub async fn go_back(&self, own: &str, to: &Head) -> Result<Option<String>, WorkspaceError> {
        if self.head().await?.branch() != Some(own) {
            return Ok(None);
        }
        let switch = || match to {
            Head::Branch { name, .. } if name == own => None,
            Head::Branch { name, .. } => Some(self.git(&["switch", "--quiet", "--no-guess"]).arg(name)),
            Head::Detached { commit } => Some(self.git(&["switch", "--quiet", "--detach"]).arg(commit.as_str())),
            Head::Unborn { .. } => None,
        };
        if self.run_blocking(|place| StoredNote::has_survivor(&place)).await? {
            return Ok(Some("git of a killed run, or one of its hooks, is still running".to_owned()));
        }
        let (Some(first), Some(second)) = (switch(), switch()) else { return Ok(None) };
        let switched = match first.with_locks(&["index", "HEAD"]).output().await {
            // It was killed, and has switched a part of the files.
            Err(WorkspaceError::GitFailed { code: None, .. }) => second.with_locks(&["index", "HEAD"]).output().await,
            switched => switched,
        };
        Ok(switched.err().map(|error| error.to_string()))
    }

    /// Restores HEAD to the position at the start of a task: on its branch, as [`own_branch`](Self::own_branch) does,
    /// or detached at its commit or a descendant. A HEAD on a branch at such a commit is detached there. No file
    /// changes, unless HEAD has to be switched back to a branch.
    ///
    /// # Errors
    /// Those of [`own_branch`](Self::own_branch). [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is to be
    /// detached and is at a commit of another history.
    #[boxed]
    pub async fn own_head(&self, standing: &BranchPositions) -> Result<Head, WorkspaceError> {
        match (&standing.branch, &standing.commit) {
            (Some(branch), left_at) => {
                self.own_branch(branch, left_at.as_ref()).await?;
            }
            (None, Some(base)) => self.detach(base).await?,
            (None, None) => {}
        }
        self.head().await
    }

    /// Continues on a branch that somebody else moved: HEAD is put on it, and the files get its new commits, unless the
    /// branch was moved in this work tree. A deleted branch is created again at its former commit.
    ///
    /// # Errors
    /// [`Conflict`](WorkspaceError::Conflict) if the files have changes in the same lines. Those of
    /// [`own_branch`](Self::own_branch).
    #[boxed]
    pub async fn follow(&self, moved: &BranchMove) -> Result<(), WorkspaceError> {
        self.ensure_ready().await?;
        let (Some(old), branch) = (&moved.old, moved.branch.as_str()) else { return Ok(()) };
        let Some(new) = &moved.new else { return self.create_again(branch, old).await };
        let is_elsewhere = self.head().await?.branch() != Some(branch);
        if is_elsewhere || self.is_moved_here(moved).await? {
            return self.own_branch(branch, Some(new)).await.map(drop);
        }
        let (from, to) = (self.tree_of(old).await?, self.tree_of(new).await?);
        let now = self.snapshot().await?.tree;
        let files = self.apply_change(&from, &now, &to).await?;
        self.reset_to(&files).await?;
        self.reset_index().await
    }

    /// Creates a branch again, with HEAD on it. Files that are as in HEAD's commit become those of the branch.
    async fn create_again(&self, branch: &str, at: &CommitId) -> Result<(), WorkspaceError> {
        let head = self.head().await?;
        if head.commit().is_some_and(|commit| commit != at) && head.branch() != Some(branch) {
            return self.new_branch(branch, at).await;
        }
        match self.branch_at(branch).await? {
            None => self.begin_branch(branch, Some(at)).await,
            Some(_) => self.own_branch(branch, Some(at)).await.map(drop),
        }
    }

    /// Detaches HEAD at its commit, which must be `base` or a descendant.
    async fn detach(&self, base: &CommitId) -> Result<(), WorkspaceError> {
        self.ensure_ready().await?;
        let head = self.head().await?;
        let is_after = match head.commit() {
            Some(at) => self.descends(at, base).await?,
            None => false,
        };
        if !is_after {
            let expected = format!("detached at {base}, or after it");
            return Err(WorkspaceError::HeadElsewhere { expected, found: head.to_string() });
        }
        match head.commit().filter(|_| head.branch().is_some()) {
            Some(at) => self.detach_at(at).await,
            None => Ok(()),
        }
    }

    /// Detaches HEAD at a commit. Files and index do not change.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if HEAD cannot be written.
    #[boxed]
    pub async fn detach_at(&self, at: &CommitId) -> Result<(), WorkspaceError> {
        let at = at.clone();
        self.read("set HEAD", move |repository, place| {
            let at = at.oid()?;
            with_locks(place, &["HEAD"], || Ok(repository.set_head_detached(at)?))
        })
        .await
    }

    /// Returns whether `tip` is `base` or a descendant of it.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a commit cannot be read.
    #[boxed]
    pub async fn descends(&self, tip: &CommitId, base: &CommitId) -> Result<bool, WorkspaceError> {
        let (tip, base) = (tip.clone(), base.clone());
        self.objects("read the history", move |repository, _| {
            Ok(tip == base || descends(repository, tip.oid()?, base.oid()?)?)
        })
        .await
    }
}

/// Returns a branch that git cannot have beside `name`.
fn in_the_way(repository: &Repository, name: &str) -> Result<Option<String>, Fault> {
    for (at, _) in name.match_indices('/') {
        if find_branch(repository, &name[..at])?.is_some() {
            return Ok(Some(name[..at].to_owned()));
        }
    }
    let below = format!("{name}/");
    for branch in repository.branches(Some(git2::BranchType::Local))? {
        let (branch, _) = branch?;
        let known = String::from_utf8_lossy(branch.name_bytes()?).into_owned();
        if known.starts_with(&below) {
            return Ok(Some(known));
        }
    }
    Ok(None)
}

fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
