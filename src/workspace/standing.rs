//! Agents that commit by themselves: where HEAD stood when a task began, what became of it, and how it is put back without
//! touching a file.

use std::collections::BTreeMap;

use git2::{Repository, Sort};
use serde::{Deserialize, Serialize};

use super::branch::find_branch;
use super::error::WorkspaceError;
use super::head::{Head, head_of};
use super::id::CommitId;
use super::open::{Fault, Workspace};

/// Where a task began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The branch that HEAD is on.
    pub branch: String,
    /// Its newest commit; none if it has none yet.
    pub commit: Option<CommitId>,
    /// Other branches that must not move, such as the user's.
    #[serde(default)]
    pub others: BTreeMap<String, CommitId>,
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
    /// Its branch grew.
    Ahead {
        /// The new commits, oldest first.
        commits: Vec<CommitId>,
    },
    /// Its branch was set to a commit that does not come after where it stood; none if it has no commit any more.
    Moved {
        /// The commit.
        commit: Option<CommitId>,
    },
    /// It is on another branch.
    Switched {
        /// Where.
        to: Head,
    },
    /// It is on no branch.
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
    /// Returns where HEAD stands, and the branches `others` that are not to move.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is on no branch.
    pub async fn standing(&self, others: &[&str]) -> Result<Standing, WorkspaceError> {
        let others: Vec<String> = others.iter().map(|&name| name.to_owned()).collect();
        self.read("read the branches", move |repository, _| {
            let head = head_of(repository)?;
            let Some(branch) = head.branch() else {
                return Err(strayed("on a branch".to_owned(), &head).into());
            };
            let mut kept = BTreeMap::new();
            for name in others.into_iter().filter(|name| name != branch) {
                if let Some(commit) = find_branch(repository, &name)? {
                    kept.insert(name, commit.into());
                }
            }
            Ok(Standing { branch: branch.to_owned(), commit: head.commit().cloned(), others: kept })
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
                Head::Detached { commit } => HeadMove::Detached { commit },
                to if to.branch() != Some(&standing.branch) => HeadMove::Switched { to },
                to => moved(repository, standing.commit.as_ref(), to.commit())?,
            };
            Ok(Movement { head, others: strays(repository, &standing)? })
        })
        .await
    }

    /// Puts HEAD and the branches back to where they stood, and leaves files and index as they are: what an agent committed
    /// is work of its task like any other, and no commit is lost that its reflog knows.
    ///
    /// # Errors
    /// [`HeadElsewhere`](WorkspaceError::HeadElsewhere) if HEAD is at a commit of another history, so that the files are not
    /// those of the task. [`Ongoing`](WorkspaceError::Ongoing) if a merge or the like was begun.
    pub async fn fold(&self, standing: &Standing) -> Result<Movement, WorkspaceError> {
        self.ensure_ready().await?;
        let movement = self.movement(standing).await?;
        self.ensure_foldable(standing, &movement.head).await?;
        if movement.head != HeadMove::None {
            self.set_branch(&standing.branch, standing.commit.as_ref()).await?;
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
        let expected = || format!("on `{}`, or after it", standing.branch);
        if is_after { Ok(()) } else { Err(strayed(expected(), &self.head().await?)) }
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
