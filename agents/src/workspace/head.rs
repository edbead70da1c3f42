//! Position of HEAD, and readiness of a work tree.

use std::fmt;

use git2::{Oid, Reference, Repository};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::git_locks::Locks;
use super::id::CommitId;
use super::ongoing::Ongoing;
use super::place::{Fault, Workspace, is_unborn};

/// Position of HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// On a branch.
    Branch {
        /// Its name, without `refs/heads/`.
        name: String,
        /// Its newest commit.
        commit: CommitId,
    },
    /// On a branch that has no commit yet.
    Unborn {
        /// Its name.
        name: String,
    },
    /// On a commit, on no branch.
    Detached {
        /// The commit.
        commit: CommitId,
    },
}

impl Head {
    /// Returns the name of the branch, if it is on one.
    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Branch { name, .. } | Self::Unborn { name } => Some(name),
            Self::Detached { .. } => None,
        }
    }

    /// Returns the commit, if there is one.
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Branch { commit, .. } | Self::Detached { commit } => Some(commit),
            Self::Unborn { .. } => None,
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch { name, commit } => write!(f, "on `{name}` at {commit}"),
            Self::Unborn { name } => write!(f, "on `{name}`, which has no commit yet"),
            Self::Detached { commit } => write!(f, "detached at {commit}"),
        }
    }
}

impl Workspace {
    /// Returns the position of HEAD.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    pub async fn head(&self) -> Result<Head, WorkspaceError> {
        self.read("read HEAD", |repository, _| head_of(repository)).await
    }

    /// Returns the git operation in progress, if any.
    ///
    /// # Errors
    /// [`Unreadable`](WorkspaceError::Unreadable) if the repository cannot be opened.
    pub async fn ongoing(&self) -> Result<Option<Ongoing>, WorkspaceError> {
        self.read("read the state", |repository, _| Ok(Ongoing::of(repository.state()))).await
    }

    /// Checks that the work tree is ready: no operation is in progress, and no other git program locks the index, or
    /// only for a short time.
    ///
    /// # Errors
    /// [`Ongoing`](WorkspaceError::Ongoing), [`Locked`](WorkspaceError::Locked).
    pub async fn ensure_ready(&self) -> Result<(), WorkspaceError> {
        if let Some(what) = self.ongoing().await? {
            return Err(WorkspaceError::Ongoing { what, root: self.0.root.clone() });
        }
        self.wait_unlocked().await
    }

    /// Waits for the index lock of other git programs.
    async fn wait_unlocked(&self) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| Locks::of(&place, &["index"]).wait(&place)).await?
    }
}

pub(super) fn head_of(repository: &Repository) -> Result<Head, Fault> {
    match repository.head() {
        Ok(head) if head.name_bytes() == b"HEAD" => Ok(Head::Detached { commit: tip_of(&head)?.into() }),
        Ok(head) => Ok(Head::Branch { name: branch_of(head.name_bytes()), commit: tip_of(&head)?.into() }),
        Err(error) if is_unborn(&error) => {
            let head = repository.find_reference("HEAD")?;
            Ok(Head::Unborn { name: branch_of(head.symbolic_target_bytes().unwrap_or_default()) })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the commit of a branch or of HEAD, also one that is gone.
pub(super) fn tip_of(reference: &Reference<'_>) -> Result<Oid, Fault> {
    reference.target().map_or_else(|| Ok(reference.peel_to_commit()?.id()), Ok)
}

fn branch_of(reference: &[u8]) -> String {
    let name = String::from_utf8_lossy(reference);
    name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()
}
