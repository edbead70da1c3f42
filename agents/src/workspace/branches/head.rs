//! Position of HEAD, ancestry of commits, and readiness of a work tree. An operation of git that an agent left
//! unfinished, such as a merge or a rebase, is ended with HEAD where it began and the files as they are, so that the
//! work continues; those of people are not touched.

use std::collections::HashSet;
use std::path::Path;
use std::{fmt, fs};

use async_recursion::async_recursion as boxed;
use git2::{Error, Oid, Repository, Sort};
use serde::{Deserialize, Serialize};

use crate::workspace::cause::OngoingOperation;
use crate::workspace::error::WorkspaceError;
use crate::workspace::git_locks::{Locks, with_locks};
use crate::workspace::id::CommitId;
use crate::workspace::place::{Fault, Workspace, changed_at, is_unborn};
use crate::workspace::references::tip_of;
use crate::workspace::worktree::is_made_for_agents;

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
    #[boxed]
    pub async fn head(&self) -> Result<Head, WorkspaceError> {
        self.read("read HEAD", |repository, _| head_of(repository)).await
    }

    /// Returns the git operation in progress, if any.
    ///
    /// # Errors
    /// [`Unreadable`](WorkspaceError::Unreadable) if the repository cannot be opened.
    #[boxed]
    pub async fn ongoing_operation(&self) -> Result<Option<OngoingOperation>, WorkspaceError> {
        self.read("read the state", |repository, _| Ok(OngoingOperation::of(repository.state()))).await
    }

    /// Checks that the work tree is ready: no operation is in progress, and no other git program locks the index, or
    /// only for a short time.
    ///
    /// # Errors
    /// [`Ongoing`](WorkspaceError::Ongoing), [`Locked`](WorkspaceError::Locked).
    #[boxed]
    pub async fn ensure_ready(&self) -> Result<(), WorkspaceError> {
        if let Some(what) = self.ongoing_operation().await? {
            return Err(WorkspaceError::Ongoing { what, root: self.0.root.clone() });
        }
        self.wait_unlocked().await
    }

    /// Waits for the index lock of other git programs.
    async fn wait_unlocked(&self) -> Result<(), WorkspaceError> {
        self.run_blocking(|place| Locks::of(&place, &["index"]).wait(&place)).await?
    }
}

pub(in crate::workspace) fn head_of(repository: &Repository) -> Result<Head, Fault> {
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

fn branch_of(reference: &[u8]) -> String {
    let name = String::from_utf8_lossy(reference);
    name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()
}

/// Returns whether `tip` is a descendant of `base`; a commit is none of its own.
pub(in crate::workspace) fn descends(repository: &Repository, tip: Oid, base: Oid) -> Result<bool, Error> {
    // libgit2 fails at the parents that a shallow clone lacks.
    if !is_shallow(repository) {
        return repository.graph_descendant_of(tip, base);
    }
    Ok(tip != base && ancestors(repository, tip, &HashSet::new()).contains(&base))
}

/// Returns the commits that are reachable from `tip` and not from `base`, parents first.
pub(in crate::workspace) fn commits_since(
    repository: &Repository,
    tip: Oid,
    base: Option<Oid>,
) -> Result<Vec<Oid>, Error> {
    if is_shallow(repository) {
        let hidden =
            base.map_or_else(HashSet::new, |base| ancestors(repository, base, &HashSet::new()).into_iter().collect());
        return Ok(ancestors(repository, tip, &hidden));
    }
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(tip)?;
    base.map(|base| walk.hide(base)).transpose()?;
    walk.collect()
}

/// Returns whether the history is cut off; libgit2 does not see it in a linked work tree.
fn is_shallow(repository: &Repository) -> bool {
    fs::metadata(repository.commondir().join("shallow")).is_ok_and(|about| about.len() > 0)
}

/// Returns a commit and its ancestors that exist and are not hidden, parents first.
fn ancestors(repository: &Repository, tip: Oid, hidden: &HashSet<Oid>) -> Vec<Oid> {
    let (mut seen, mut order, mut open) = (hidden.clone(), Vec::new(), vec![(tip, false)]);
    while let Some((id, is_done)) = open.pop() {
        if is_done {
            order.push(id);
            continue;
        }
        let Ok(commit) = repository.find_commit(id) else { continue };
        if seen.insert(id) {
            open.push((id, true));
            open.extend(commit.parent_ids().map(|parent| (parent, false)));
        }
    }
    order
}

/// Files and folders by which git knows that something is in progress.
const MARKS: [&str; 8] = [
    "MERGE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "sequencer",
    "BISECT_LOG",
    "BISECT_START",
];
/// Further files of a bisection, which has no command that ends it in place.
const OF_BISECT: [&str; 7] = [
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "BISECT_RUN",
];

/// HEAD at the start of an operation: its reference or its commit.
enum Origin {
    Branch(String),
    Commit(Oid),
}

impl Workspace {
    /// Ends an operation in progress that was begun after `since`, in nanoseconds since 1970 (see
    /// [`BranchPositions::started`](super::BranchPositions)), by an agent whose turn has just ended. HEAD goes back to where a rebase
    /// began; no file changes, and nothing is staged any more. Returns the operation.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if git cannot end it.
    #[boxed]
    pub async fn quit_left(&self, since: u64) -> Result<Option<OngoingOperation>, WorkspaceError> {
        let Some(what) = self.ongoing_operation().await? else { return Ok(None) };
        let is_since = self.run_blocking(move |place| {
            let began = MARKS.iter().filter_map(|mark| place.git_dir.join(mark).symlink_metadata().ok());
            began.map(|about| changed_at(&about)).min().is_some_and(|began| began >= since)
        });
        if is_since.await? { self.quit(what).await.map(|()| Some(what)) } else { Ok(None) }
    }

    /// The same after the agent was killed, in a work tree that was made for agents: elsewhere a person may have begun it
    /// since.
    ///
    /// # Errors
    /// As [`quit_left`](Self::quit_left).
    #[boxed]
    pub async fn quit_killed(&self, since: u64) -> Result<Option<OngoingOperation>, WorkspaceError> {
        if self.run_blocking(|place| is_made_for_agents(&place)).await? {
            self.quit_left(since).await
        } else {
            Ok(None)
        }
    }

    async fn quit(&self, what: OngoingOperation) -> Result<(), WorkspaceError> {
        let origin = self.read("read the state", |_, place| Ok(origin(&place.git_dir))).await?;
        let command = match what {
            OngoingOperation::Merge => Some("merge"),
            OngoingOperation::Rebase => Some("rebase"),
            OngoingOperation::CherryPick => Some("cherry-pick"),
            OngoingOperation::Revert => Some("revert"),
            OngoingOperation::Mail => Some("am"),
            OngoingOperation::Bisect => None,
        };
        match command {
            Some(command) => drop(self.git(&[command, "--quit"]).with_locks(&["index", "HEAD"]).output().await?),
            None => self.run_blocking(|place| remove_all(&place.git_dir, &OF_BISECT)).await?,
        }
        if let Some(origin) = origin {
            self.read("set HEAD", move |repository, place| {
                with_locks(place, &["HEAD"], || match &origin {
                    Origin::Branch(reference) => Ok::<_, Fault>(repository.set_head(reference)?),
                    Origin::Commit(commit) => Ok(repository.set_head_detached(*commit)?),
                })
            })
            .await?;
        }
        self.reset_index().await
    }
}

/// Returns where HEAD was before a rebase or a bisection.
fn origin(git_dir: &Path) -> Option<Origin> {
    let text = |name: &str| Some(fs::read_to_string(git_dir.join(name)).ok()?.trim().to_owned());
    for folder in ["rebase-merge", "rebase-apply"] {
        let Some(name) = text(&format!("{folder}/head-name")) else { continue };
        if name.starts_with("refs/heads/") {
            return Some(Origin::Branch(name));
        }
        let commit = text(&format!("{folder}/orig-head"))?;
        return Oid::from_str(&commit).ok().map(Origin::Commit);
    }
    let start = text("BISECT_START")?;
    Some(match Oid::from_str(&start).ok().filter(|_| start.len() == 40) {
        Some(commit) => Origin::Commit(commit),
        None => Origin::Branch(format!("refs/heads/{start}")),
    })
}

fn remove_all(git_dir: &Path, names: &[&str]) {
    for name in names {
        // Most of them are missing.
        let _ = fs::remove_file(git_dir.join(name));
    }
}
