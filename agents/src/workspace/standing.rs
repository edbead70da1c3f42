//! Agents that commit by themselves: where HEAD stood when a task began, what became of it, and how it is put back without
//! touching a file.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Repository, Sort};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::head::{Head, head_of};
use super::id::CommitId;
use super::place::{Fault, Workspace};
use super::references::find_branch;

/// Where a task began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The branch that HEAD is on; none if HEAD is detached.
    pub branch: Option<String>,
    /// HEAD's commit; none if the branch has none yet.
    pub commit: Option<CommitId>,
    /// Other branches that must not move, such as the user's.
    #[serde(default)]
    pub others: BTreeMap<String, CommitId>,
    /// The names of all branches, if HEAD is detached: any other was made since.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub known: BTreeSet<String>,
}

/// What became of HEAD and the branches since a task began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// What became of HEAD.
    pub head: HeadMove,
    /// The other branches that moved, or are gone.
    pub others: Vec<String>,
}

/// What became of HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadMove {
    /// It stands where it stood.
    None,
    /// Its branch grew, or it is detached at a later commit.
    Ahead {
        /// The new commits, oldest first.
        commits: Vec<CommitId>,
    },
    /// It, or its branch, was set to a commit that does not come after where it stood; none if the branch has no commit any more.
    Moved {
        /// The commit.
        commit: Option<CommitId>,
    },
    /// It is on another branch.
    Switched {
        /// Where.
        to: Head,
    },
    /// It was on a branch and is on none.
    Detached {
        /// At which commit.
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
    /// Returns where HEAD stands, and the branches `others` that are not to move; with the names of all branches, if HEAD is detached.
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

    /// Returns what became of HEAD since `standing`.
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

    /// Puts HEAD and the branches back to where they stood, and leaves files and index as they are: what an agent committed
    /// is work of its task like any other, and no commit is lost that its reflog knows. Where a task began with a detached HEAD, a
    /// branch that was made and switched to since then is deleted.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is at a commit of another history, so that the files are not
    /// those of the task. [`Ongoing`](WorkspaceError::Ongoing) if a merge or the like was begun.
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

    /// Deletes a branch that is not among all those that were there. If none is known, nobody can say whose it is.
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
        && !repository.graph_descendant_of(tip, base.oid()?)?
    {
        return Ok(HeadMove::Moved { commit: Some(at.clone()) });
    }
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(tip)?;
    if let Some(base) = base {
        walk.hide(base.oid()?)?;
    }
    let commits = walk.map(|id| id.map(CommitId::from)).collect::<Result<_, _>>()?;
    Ok(HeadMove::Ahead { commits })
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
