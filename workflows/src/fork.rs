//! A place of its own for a fork of a run: a new work tree and a new branch, with the files of the checkpoint. Knows git,
//! must not know what a run stores.

use std::path::{Path, PathBuf};

use serde_json::Value;
use superstep::nodes::Base;
use superstep::workspace::{BranchPositions, CommitId, TreeId, Workspace, WorkspaceError, branch_name, escape_id};

/// The place of a fork.
#[derive(Clone, Debug)]
pub struct ForkPlace {
    /// The top folder of its work tree.
    pub folder: PathBuf,
    /// Its branch, which may be created only when its work begins.
    pub branch: String,
    /// The values that the fork writes: an object with a key for each channel.
    pub values: Value,
    made: ForkCleanup,
}

/// Work tree and branch of a fork, which are removed if the fork fails.
#[derive(Clone, Debug)]
pub(crate) struct ForkCleanup {
    /// The work tree of the run.
    repository: PathBuf,
    folder: PathBuf,
    branch: String,
    /// The commit at which the branch was created.
    at: CommitId,
}

impl ForkPlace {
    /// Returns the place with the values that the fork writes.
    pub(crate) fn new(place: NewPlace, values: Value) -> Self {
        let NewPlace { folder, branch, made, .. } = place;
        Self { folder, branch, values, made }
    }

    /// Removes the work tree and the branch, because the fork could not be stored. A branch with commits of its own
    /// remains.
    ///
    /// # Errors
    /// Those of git.
    pub async fn remove(&self) -> Result<(), WorkspaceError> {
        self.made.remove().await
    }
}

impl ForkCleanup {
    async fn remove(&self) -> Result<(), WorkspaceError> {
        let home = Workspace::open(&self.repository).await?;
        home.remove_worktree(&self.folder).await?;
        home.remove_branch_at(&self.branch, &self.at).await
    }
}

/// The work at the checkpoint of a fork.
#[derive(Debug)]
pub(crate) struct ForkedWork<'a> {
    /// The work tree of the run.
    pub(crate) repository: &'a Path,
    /// The name of the fork's thread.
    pub(crate) thread: &'a str,
    /// True if it is another thread than that of the run.
    pub(crate) is_new_thread: bool,
    /// The commit of the work, or at which the run began; none: that of HEAD.
    pub(crate) commit: Option<CommitId>,
    /// The files of the work; none: it has not begun.
    pub(crate) files: Option<TreeId>,
}

/// A new work tree for a fork.
#[derive(Debug)]
pub(crate) struct NewPlace {
    /// The name of the run there.
    pub(crate) name: String,
    /// The path to store: that from before a move of the repository, as all others.
    pub(crate) folder: PathBuf,
    pub(crate) branch: String,
    at: BranchPositions,
    made: ForkCleanup,
}

impl NewPlace {
    /// Returns the same position on the new branch.
    pub(crate) fn base(&self, base: &Base) -> Base {
        let at =
            BranchPositions { branch: Some(self.branch.clone()), others: self.at.others.clone(), ..base.at.clone() };
        Base { at, tree: base.tree.clone() }
    }
}

impl ForkedWork<'_> {
    /// Makes the work tree, in `.superstep/forks/NAME`, with the files of the work. Nothing else changes; after a failure,
    /// nothing is left.
    ///
    /// # Errors
    /// Those of git.
    pub(crate) async fn place(self) -> Result<NewPlace, WorkspaceError> {
        let home = Workspace::open(self.repository).await?;
        home.ignore_store().await?;
        let commit = match self.commit.clone() {
            Some(commit) => commit,
            None => {
                let none = || WorkspaceError::NoCommitYet { root: home.root().to_owned() };
                home.head().await?.commit().cloned().ok_or_else(none)?
            }
        };
        let (name, folder, branch) = free(&home, self.thread, self.is_new_thread).await?;
        let (repository, at) = (home.root().to_owned(), commit);
        let made = ForkCleanup { repository, folder, branch: branch.clone(), at };
        match self.fill(&home, &made).await {
            Ok((folder, at)) => Ok(NewPlace { name, folder, branch, at, made }),
            Err(error) => {
                if let Err(left) = made.remove().await {
                    tracing::warn!(error = %left, folder = %made.folder.display(), "cannot remove the files of a fork that failed");
                }
                Err(error)
            }
        }
    }

    /// Makes the work tree; returns its folder and the position there.
    async fn fill(&self, home: &Workspace, made: &ForkCleanup) -> Result<(PathBuf, BranchPositions), WorkspaceError> {
        let there = home.detached_worktree(&made.folder, &made.at).await?;
        if let Some(files) = &self.files {
            there.new_branch(&made.branch, &made.at).await?;
            there.reset_to(files).await?;
        }
        Ok((there.stored_root(), there.branch_positions(&[]).await?))
    }
}

/// Returns a name for which there is neither a work tree nor a branch.
async fn free(home: &Workspace, thread: &str, is_new: bool) -> Result<(String, PathBuf, String), WorkspaceError> {
    // A run may name its branch after its thread only when its work begins.
    let first = if is_new { 1_u64 } else { 2 };
    for nth in first.. {
        let name = if nth == 1 { thread.to_owned() } else { format!("{thread}-{nth}") };
        let folder = home.root().join(".superstep").join("forks").join(escape_id(&name));
        let branch = branch_name(&name);
        let is_free = folder.symlink_metadata().is_err() && home.branch_at(&branch).await?.is_none();
        if is_free {
            return Ok((name, folder, branch));
        }
    }
    Err(WorkspaceError::BadBranch { branch: thread.to_owned() })
}
