//! Commits that agents make by themselves: detects how HEAD moved since the start of a task, and moves it back without
//! touching a file.

use std::collections::{BTreeMap, BTreeSet};

use git2::Repository;
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::head::{Head, head_of};
use super::history;
use super::id::CommitId;
use super::place::{Fault, Workspace};
use super::references::find_branch;

/// Position of HEAD and branches at the start of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
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
}

/// Movement of HEAD and the branches since the start of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// Movement of HEAD.
    pub head: HeadMove,
    /// Other branches that moved or were deleted.
    pub others: Vec<String>,
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
    pub async fn standing(&self, others: &[&str]) -> Result<Standing, WorkspaceError> {
        let others: Vec<String> = others.iter().map(|&name| name.to_owned()).collect();
        self.read("read the branches", move |repository, _| {
            let head = head_of(repository)?;
            let others = others.into_iter().filter(|name| head.branch() != Some(name));
            let others = some_branches(repository, others)?;
            let known = if head.branch().is_none() { all_branches(repository)? } else { BTreeSet::new() };
            Ok(Standing { branch: head.branch().map(str::to_owned), commit: head.commit().cloned(), others, known })
        })
        .await
    }

    /// Returns the movement of HEAD since `standing`.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if it cannot be read.
    pub async fn movement(&self, standing: &Standing) -> Result<Movement, WorkspaceError> {
        let standing = standing.clone();
        self.read("read the branches", move |repository, _| {
            let head = match head_of(repository)? {
                Head::Detached { commit } if standing.branch.is_some() => HeadMove::Detached { commit },
                to if to.branch() != standing.branch.as_deref() => HeadMove::Switched { to },
                to => moved(repository, standing.commit.as_ref(), to.commit())?,
            };
            Ok(Movement { head, others: strays(repository, &standing)? })
        })
        .await
    }

    /// Moves HEAD and the branches back to `standing`, and leaves files and index unchanged: commits of an agent become
    /// uncommitted work of its task, and remain in the reflog. If HEAD was detached, a branch that was created and
    /// switched to since is deleted.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is at a commit of another history, so that the files
    /// are not those of the task. [`Ongoing`](WorkspaceError::Ongoing) if a merge or similar operation is in progress.
    pub async fn fold(&self, standing: &Standing) -> Result<Movement, WorkspaceError> {
        self.ensure_ready().await?;
        let movement = self.movement(standing).await?;
        self.ensure_foldable(standing, &movement.head).await?;
        if movement.head != HeadMove::None {
            self.set_head(standing.branch.as_deref(), standing.commit.as_ref()).await?;
        }
        if let HeadMove::Switched { to: Head::Branch { name, .. } } = &movement.head {
            self.delete_new_branch(standing, name).await?;
        }
        self.put_back(standing, &movement.others).await?;
        Ok(movement)
    }

    async fn ensure_foldable(&self, standing: &Standing, head: &HeadMove) -> Result<(), WorkspaceError> {
        let at = match head {
            HeadMove::None | HeadMove::Ahead { .. } | HeadMove::Moved { .. } => return Ok(()),
            HeadMove::Switched { to } => to.commit(),
            HeadMove::Detached { commit } => Some(commit),
        };
        let is_after = match (at, &standing.commit) {
            (Some(at), Some(base)) => self.descends(at, base).await?,
            (_, base) => base.is_none(),
        };
        let expected = || match (&standing.branch, &standing.commit) {
            (Some(branch), _) => format!("on `{branch}`, or after it"),
            (None, Some(commit)) => format!("detached at {commit}, or after it"),
            (None, None) => "detached".to_owned(),
        };
        if is_after { Ok(()) } else { Err(strayed(expected(), &self.head().await?)) }
    }

    /// Deletes a branch that is not in `standing.known`. If that is empty, new ones cannot be recognized.
    async fn delete_new_branch(&self, standing: &Standing, name: &str) -> Result<(), WorkspaceError> {
        if standing.known.is_empty() || standing.known.contains(name) {
            return Ok(());
        }
        let reference = format!("refs/heads/{name}");
        self.objects("delete a branch", move |repository, _| match repository.find_reference(&reference) {
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(()),
            found => Ok(found?.delete()?),
        })
        .await
    }

    async fn put_back(&self, standing: &Standing, others: &[String]) -> Result<(), WorkspaceError> {
        let back: Vec<_> = others.iter().filter_map(|name| standing.others.get_key_value(name)).collect();
        let back: Vec<_> = back.into_iter().map(|(name, commit)| (name.clone(), commit.clone())).collect();
        self.objects("set branches back", move |repository, _| {
            for (name, commit) in back {
                repository.reference(&format!("refs/heads/{name}"), commit.oid()?, true, "superstep: fold")?;
            }
            Ok(())
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

fn all_branches(repository: &Repository) -> Result<BTreeSet<String>, Fault> {
    let mut names = BTreeSet::new();
    for branch in repository.branches(Some(git2::BranchType::Local))? {
        let (branch, _) = branch?;
        names.extend(branch.name().ok().flatten().map(str::to_owned));
    }
    Ok(names)
}

fn strayed(expected: String, found: &Head) -> WorkspaceError {
    WorkspaceError::HeadElsewhere { expected, found: found.to_string() }
}

fn moved(repository: &Repository, base: Option<&CommitId>, tip: Option<&CommitId>) -> Result<HeadMove, Fault> {
    let Some(at) = tip.filter(|tip| Some(*tip) != base) else {
        return Ok(if tip == base { HeadMove::None } else { HeadMove::Moved { commit: None } });
    };
    let tip = at.oid()?;
    if let Some(base) = base
        && !history::descends(repository, tip, base.oid()?)?
    {
        return Ok(HeadMove::Moved { commit: Some(at.clone()) });
    }
    let base = base.map(CommitId::oid).transpose()?;
    let commits = history::commits_since(repository, tip, base)?;
    Ok(HeadMove::Ahead { commits: commits.into_iter().map(CommitId::from).collect() })
}

fn strays(repository: &Repository, standing: &Standing) -> Result<Vec<String>, Fault> {
    let mut strays = Vec::new();
    for (name, commit) in &standing.others {
        if find_branch(repository, name)?.map(CommitId::from).as_ref() != Some(commit) {
            strays.push(name.clone());
        }
    }
    Ok(strays)
}
