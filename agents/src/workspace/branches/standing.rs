//! Positions of HEAD and the branches, and how they moved since. Reads only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use async_recursion::async_recursion as boxed;
use git2::{BranchType, Oid, Repository};
use serde::{Deserialize, Serialize};
use superstep_base::gather;

use super::head::{Head, commits_since, descends, head_of};
use super::head_log::HeadLog;
use crate::workspace::error::WorkspaceError;
use crate::workspace::id::CommitId;
use crate::workspace::place::{Fault, Place, Workspace, file_time};
use crate::workspace::references::find_branch;

/// Position of HEAD and branches at the start of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPositions {
    /// Branch of HEAD; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// HEAD's commit; `None` if the branch has none yet.
    pub commit: Option<CommitId>,
    /// Other branches that must not move, such as the user's.
    #[serde(default)]
    pub others: BTreeMap<String, CommitId>,
    /// Names of all branches, if HEAD is detached: any other was created since.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub known: BTreeSet<String>,
    /// All branches, at the start of a turn.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub all: BTreeMap<String, CommitId>,
    /// Time at the start of a turn by the file system, in nanoseconds since 1970: later changes of files are not before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// Parts of the reflog of HEAD that were written while an agent's turn ran, each from one byte to another: only moves
    /// in them are the agent's. Empty: no turn ran, and nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<[u64; 2]>,
}

/// A branch that was moved, created or deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BranchMove {
    /// The branch.
    pub branch: String,
    /// Its commit before; `None`: it did not exist.
    pub old: Option<CommitId>,
    /// Its commit now; `None`: it is deleted.
    pub new: Option<CommitId>,
}

impl fmt::Display for BranchMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { branch, old, new } = self;
        match (old, new) {
            (Some(old), Some(new)) => write!(f, "the branch `{branch}` was moved from {old} to {new}"),
            (Some(old), None) => write!(f, "the branch `{branch}`, which was at {old}, was deleted"),
            (None, Some(new)) => write!(f, "the branch `{branch}` was created at {new}"),
            (None, None) => write!(f, "the branch `{branch}` does not exist"),
        }
    }
}

/// Movement of HEAD and the branches since the start of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// Movement of HEAD.
    pub head: HeadMove,
    /// Other branches that moved or were deleted.
    pub others: Vec<BranchMove>,
}

/// Movement of HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadMove {
    /// It did not move.
    None,
    /// Its branch grew, or it is detached at a later commit.
    Ahead {
        /// The new commits, oldest first.
        commits: Vec<CommitId>,
    },
    /// It, or its branch, was set to a commit that is not a descendant; `None` if the branch has no commit any more.
    Moved {
        /// The commit.
        commit: Option<CommitId>,
    },
    /// It is on another branch.
    Switched {
        /// New position.
        to: Head,
    },
    /// It was on a branch and is detached now.
    Detached {
        /// New commit.
        commit: CommitId,
    },
}

impl Movement {
    /// Returns whether nothing moved.
    pub fn is_none(&self) -> bool {
        self.head == HeadMove::None && self.others.is_empty()
    }
}

impl Workspace {
    /// Returns the position of HEAD and of the branches `others`, which must not move; with the names of all branches,
    /// if HEAD is detached.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    #[boxed]
    pub async fn branch_positions(&self, others: &[&str]) -> Result<BranchPositions, WorkspaceError> {
        let others: Vec<String> = others.iter().map(|&name| name.to_owned()).collect();
        let standing = self.read("read the branches", move |repository, _| {
            let head = head_of(repository)?;
            let others = others.into_iter().filter(|name| head.branch() != Some(name));
            let others = some_branches(repository, others)?;
            let is_detached = head.branch().is_none();
            let known = if is_detached { branches(repository)? } else { vec![] };
            let (branch, commit) = (head.branch().map(str::to_owned), head.commit().cloned());
            let known = gather(known.into_iter().map(|(name, _)| name));
            Ok(BranchPositions { branch, commit, others, known, ..BranchPositions::default() })
        });
        let standing = standing.await?;
        if let Some(commit) = &standing.commit {
            self.keep_made(commit.as_str()).await?;
        }
        Ok(standing)
    }

    /// Adds the time and the positions of all branches: [`fold`](Self::fold) compares with them.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a branch cannot be read, [`Io`](WorkspaceError::Io) for the time.
    #[boxed]
    pub async fn with_all_branches(&self, standing: BranchPositions) -> Result<BranchPositions, WorkspaceError> {
        self.read("read the branches", move |repository, place| {
            let all = gather(branches(repository)?.into_iter().map(|(name, tip)| (name, tip.into())));
            let failed = |source| WorkspaceError::Io { doing: "write", path: place.git_dir.clone(), source };
            Ok(BranchPositions { all, started: Some(file_time(place).map_err(failed)?), ..standing })
        })
        .await
    }

    /// Returns how the branch of `standing` moved other than by commits in this work tree, which HEAD's reflog shows;
    /// `None` if it did not, or HEAD was detached.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    #[boxed]
    pub async fn foreign_move(&self, standing: &BranchPositions) -> Result<Option<BranchMove>, WorkspaceError> {
        let standing = standing.clone();
        self.read("read the branches", move |repository, place| {
            let (Some(branch), Some(old)) = (&standing.branch, &standing.commit) else { return Ok(None) };
            let (from, tip) = (old.oid()?, find_branch(repository, branch)?);
            let moved = BranchMove { branch: branch.clone(), old: Some(old.clone()), new: tip.map(CommitId::from) };
            let Some(tip) = tip else { return Ok(Some(moved)) };
            if tip == from {
                return Ok(None);
            }
            let is_after = descends(repository, tip, from)?;
            let is_ours = is_after && is_seen(repository, place, &moved)?;
            Ok((!is_ours).then_some(moved))
        })
        .await
    }

    /// Returns whether the reflog of HEAD shows the move of a branch: then the files of this work tree follow it.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    #[boxed]
    pub async fn is_moved_here(&self, moved: &BranchMove) -> Result<bool, WorkspaceError> {
        let moved = moved.clone();
        self.read("read the reflog", move |repository, place| is_seen(repository, place, &moved)).await
    }

    /// Returns the movement of HEAD since `standing`.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    #[boxed]
    pub async fn movement(&self, standing: &BranchPositions) -> Result<Movement, WorkspaceError> {
        let standing = standing.clone();
        self.read("read the branches", move |repository, _| {
            let head = match head_of(repository)? {
                Head::Detached { commit } if standing.branch.is_some() => HeadMove::Detached { commit },
                to if to.branch() != standing.branch.as_deref() => HeadMove::Switched { to },
                to => head_move(repository, standing.commit.as_ref(), to.commit())?,
            };
            Ok(Movement { head, others: moved_branches(repository, &standing.others)? })
        })
        .await
    }
}

fn some_branches(
    repository: &Repository,
    names: impl Iterator<Item = String>,
) -> Result<BTreeMap<String, CommitId>, Fault> {
    let mut found = BTreeMap::new();
    for name in names {
        if let Some(commit) = find_branch(repository, &name)? {
            found.insert(name, commit.into());
        }
    }
    Ok(found)
}

/// Returns all branches with their commits.
pub(super) fn branches(repository: &Repository) -> Result<Vec<(String, Oid)>, Fault> {
    let mut found = vec![];
    for branch in repository.branches(Some(BranchType::Local))? {
        let (branch, _) = branch?;
        if let (Ok(Some(name)), Ok(commit)) = (branch.name(), branch.get().peel_to_commit()) {
            found.push((name.to_owned(), commit.id()));
        }
    }
    Ok(found)
}

fn is_seen(repository: &Repository, place: &Place, moved: &BranchMove) -> Result<bool, Fault> {
    let head = head_of(repository)?;
    let [old, new] = [&moved.old, &moved.new].map(|commit| commit.as_ref().map(CommitId::oid).transpose());
    let log = HeadLog::read_whole(place, head.branch());
    Ok(log.origin(&moved.branch, old?, new?).is_some())
}

fn head_move(repository: &Repository, base: Option<&CommitId>, tip: Option<&CommitId>) -> Result<HeadMove, Fault> {
    let Some(at) = tip.filter(|tip| Some(*tip) != base) else {
        return Ok(if tip == base { HeadMove::None } else { HeadMove::Moved { commit: None } });
    };
    let tip = at.oid()?;
    if repository.find_commit(tip).is_err() {
        // A collection of garbage may have removed it while it was made.
        return Ok(HeadMove::Moved { commit: Some(at.clone()) });
    }
    if let Some(base) = base
        && !descends(repository, tip, base.oid()?)?
    {
        return Ok(HeadMove::Moved { commit: Some(at.clone()) });
    }
    let base = base.map(CommitId::oid).transpose()?;
    let commits = commits_since(repository, tip, base)?;
    Ok(HeadMove::Ahead { commits: commits.into_iter().map(CommitId::from).collect() })
}

/// Returns the branches that are not at their commits any more.
pub(super) fn moved_branches(
    repository: &Repository,
    before: &BTreeMap<String, CommitId>,
) -> Result<Vec<BranchMove>, Fault> {
    let mut found = Vec::new();
    for (name, old) in before {
        let new = find_branch(repository, name)?.map(CommitId::from);
        if new.as_ref() != Some(old) {
            found.push(BranchMove { branch: name.clone(), old: Some(old.clone()), new });
        }
    }
    Ok(found)
}
