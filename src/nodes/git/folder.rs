//! The repository that agents work in, as nodes use it: each change is an effect of the task, so that it happens once and a
//! replay needs no repository. What is made in it is kept for the run's thread. The git operations are in `workspace`.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpointer, ThreadId, hex_ids};
use crate::graph::{Ctx, NodeError};
use crate::nodes::events::note_pending;
use crate::nodes::job::Context;
use crate::process::SecretKey;
use crate::workspace::{
    BranchPositions, CommitId, Head, SalvageKey, StoredTree, TreeId, Workspace, WorkspaceError, WorkspaceOptions,
    reference_name,
};

/// The work tree of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    /// Its absolute path.
    pub directory: PathBuf,
    /// Files that are not part of the work, such as the plan; paths are relative to the top of the work tree.
    #[serde(default)]
    pub apart: Vec<PathBuf>,
}

/// The base of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The branch, or a detached HEAD, and its commit.
    pub at: BranchPositions,
    /// The files.
    pub tree: TreeId,
}

/// The work of an attempt, to keep in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAttempt {
    /// The task's number.
    pub task: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The commit at the start of the task; none: there was none yet.
    pub commit: Option<CommitId>,
    /// The files.
    pub tree: TreeId,
}

impl Folder {
    /// Opens the repository.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub async fn open(&self) -> Result<Workspace, NodeError> {
        Workspace::open_with(&self.directory, self.options()).await.map_err(failed)
    }

    /// Opens the repository, and keeps what is made in it for the run's thread: git would remove it as unused.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub(in crate::nodes) async fn open_for<C>(&self, ctx: &Ctx<C>) -> Result<Workspace, WorkspaceError> {
        let options = match ctx.thread() {
            Some(thread) => self.options().thread(thread.as_str()),
            None => self.options(),
        };
        Workspace::open_with(&self.directory, options).await
    }

    /// Removes the references to the files of worktrees at the end of the work of a thread. Its trees and commits are still
    /// kept: a fork of any of its checkpoints needs them. It is no effect: records of earlier versions have none, and
    /// repeating it does no harm.
    pub(in crate::nodes) async fn worktrees_unneeded<C>(&self, ctx: &Ctx<C>) -> Result<(), NodeError> {
        let Some((_, thread)) = ctx.thread_store() else { return Ok(()) };
        let workspace = self.open().await?;
        workspace.forget_turns(thread.as_str()).await.map_err(failed)?;
        workspace.remove_references(thread.as_str(), "worktrees").await.map_err(failed)
    }

    fn options(&self) -> WorkspaceOptions {
        self.apart.iter().fold(WorkspaceOptions::new(), WorkspaceOptions::exclude)
    }

    /// Opens the repository and locks it for the run: other runs are refused in this work tree until this one ends, is
    /// interrupted or dies.
    ///
    /// # Errors
    /// As [`Workspace::lock`], which names who works there, and as [`open`](Self::open).
    pub async fn hold<C: Context>(&self, ctx: &Ctx<C>) -> Result<Workspace, NodeError> {
        self.hold_workspace(ctx).await.map_err(failed)
    }

    /// The same, with git's error.
    pub(in crate::nodes) async fn hold_workspace<C: Context>(&self, ctx: &Ctx<C>) -> Result<Workspace, WorkspaceError> {
        let workspace = self.open_for(ctx).await?;
        let name = format!("work tree {}", workspace.git_dir().display());
        ctx.keep(&name, workspace.lock(&thread(ctx))).await?;
        ctx.keep("git objects", keep_recorded(ctx, &workspace)).await?;
        for notice in workspace.removed_locks() {
            note_pending(ctx, notice).await;
        }
        Ok(workspace)
    }

    /// Ends the work on the branch of a run: the checkout goes back to where it was before. Returns a notice if it cannot.
    pub(in crate::nodes) async fn go_back<C: Context>(
        &self,
        ctx: &Ctx<C>,
        own: &str,
        to: &Head,
    ) -> Result<Option<String>, NodeError> {
        let back = |_| async { self.hold(ctx).await?.go_back(own, to).await.map_err(failed) };
        let stays: Option<String> = ctx.effect("back", &(own, to), back).await?;
        Ok(stays.map(|why| format!("the checkout stays on `{own}`: {why}")))
    }

    /// Keeps the work of an attempt and returns its reference; `effect` is the key within the node.
    pub(in crate::nodes) async fn keep<C: Context>(
        &self,
        ctx: &Ctx<C>,
        effect: &str,
        kept: &KeptAttempt,
    ) -> Result<String, NodeError> {
        let key = SalvageKey { thread: thread(ctx), task: kept.task.clone(), attempt: kept.attempt, phase: None };
        let keep = |_| async {
            let workspace = self.hold(ctx).await?;
            let salvaged = workspace.salvage(&key, kept.commit.as_ref(), &kept.tree).await.map_err(failed)?;
            Ok::<_, NodeError>(salvaged.reference)
        };
        ctx.effect(effect, kept, keep).await
    }

    /// Puts HEAD on the branch of the work again, or detaches it at its commit: a person may have been elsewhere after a
    /// kill, which may have left an operation of git unfinished that was begun since `started`. A branch that somebody else
    /// moved is left to the next arrival.
    pub(in crate::nodes) async fn checkout_head<C: Context>(
        &self,
        ctx: &Ctx<C>,
        base: &Base,
        started: Option<u64>,
    ) -> Result<(), NodeError> {
        let workspace = self.hold(ctx).await?;
        let quit = match started {
            Some(since) => workspace.quit_killed(since).await.map_err(failed)?,
            None => None,
        };
        if let Some(what) = quit {
            let notice = format!("a {what} that a killed turn left unfinished was ended without changing the files");
            note_pending(ctx, notice).await;
        }
        if workspace.foreign_move(&base.at).await.map_err(failed)?.is_none() {
            workspace.own_head(&base.at).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Returns the keys of this process that the files contain and the base does not, each as a line with file and line
    /// number.
    pub(in crate::nodes) async fn leaked_keys(&self, from: &TreeId, to: &TreeId) -> Result<Vec<String>, NodeError> {
        let found = self.open().await?.leaked_keys(from, to, SecretKey::from_environment()).await.map_err(failed)?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    /// The same for the current files.
    pub(in crate::nodes) async fn leaks_now(&self, from: &TreeId) -> Result<Vec<String>, NodeError> {
        let snapshot = self.open().await?.snapshot().await.map_err(failed)?;
        self.leaked_keys(from, &snapshot.tree).await
    }
}

/// Returns the sentence about changes of git's hooks and configuration.
pub fn tampering_message(who: &str, what: &[String]) -> String {
    format!("{who} changed git's hooks or configuration: {}", what.join(", "))
}

/// Returns the thread's name for git; a run without a thread is `run`.
pub(in crate::nodes) fn thread<C>(ctx: &Ctx<C>) -> String {
    ctx.thread().map_or_else(|| "run".to_owned(), |thread| thread.as_str().to_owned())
}

/// Converts git's error to a node's, with its help.
pub(in crate::nodes) fn failed(error: WorkspaceError) -> NodeError {
    if error.help().is_some() { NodeError::permanent(GitFailure(error)) } else { NodeError::permanent(error) }
}

/// Returns the changes of hooks and configuration, if git was not run for them.
pub(super) fn tampering(error: &NodeError) -> Option<Vec<String>> {
    match error.source().downcast_ref::<GitFailure>() {
        Some(GitFailure(WorkspaceError::Tampered { changes })) => Some(changes.clone()),
        _ => None,
    }
}

/// Returns the message of a hook that refused a commit.
pub(super) fn refusal(error: &NodeError) -> Option<String> {
    match error.source().downcast_ref::<GitFailure>() {
        Some(GitFailure(error @ WorkspaceError::HookRefused { .. })) => Some(error.to_string()),
        _ => None,
    }
}

/// Returns whether a commit failed as it does if somebody else moves HEAD meanwhile.
pub(super) fn lost_race(error: &NodeError) -> bool {
    let is_commit =
        |error: &WorkspaceError| matches!(error, WorkspaceError::GitFailed { command, .. } if command == "commit");
    let is_lost = |error: &WorkspaceError| matches!(error, WorkspaceError::HeadElsewhere { .. }) || is_commit(error);
    let source = error.source();
    source.downcast_ref::<GitFailure>().map(|GitFailure(error)| error).or(source.downcast_ref()).is_some_and(is_lost)
}

/// Git's error, displayed with its help.
#[derive(Debug)]
struct GitFailure(WorkspaceError);

impl std::error::Error for GitFailure {}

impl fmt::Display for GitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, help) = (self.0.to_string(), self.0.help().unwrap_or_default());
        let gap = if message.contains('\n') { '\n' } else { ' ' };
        write!(f, "{message}{gap}(help: {help})")
    }
}

/// Returns the reference that keeps the files of a worktree while its work waits.
pub(in crate::nodes) fn reference_of(thread: &str, path: &Path) -> String {
    reference_name(thread, &["worktrees", &path.file_name().unwrap_or_default().to_string_lossy()])
}

/// Stores the files of a worktree, from which it is made again if it is lost while its work waits. It is no effect: records
/// of earlier versions have none.
pub(in crate::nodes) async fn store<C>(folder: &Folder, tree: Option<&TreeId>, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Some((_, thread)) = ctx.thread_store() else { return Ok(()) };
    let workspace = folder.open_for(ctx).await.map_err(failed)?;
    let tree = match tree {
        Some(tree) => tree.clone(),
        None => workspace.snapshot().await.map_err(failed)?.tree,
    };
    let kept = StoredTree {
        reference: reference_of(thread.as_str(), &folder.directory),
        parent: workspace.head().await.map_err(failed)?.commit().cloned(),
        tree,
        message: "files of a subtask at work\n".into(),
        at: 0,
    };
    workspace.keep_tree(&kept).await.map(drop).map_err(failed)
}

/// Removes what [`store`] stored of a worktree, once its work has ended.
pub(in crate::nodes) async fn unstore<C>(repository: &Workspace, path: &Path, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let Some((_, thread)) = ctx.thread_store() else { return Ok(()) };
    repository.remove_reference(&reference_of(thread.as_str(), path)).await.map_err(failed)
}

/// Keeps what the records of a thread name, unless that was done: it was stored by an earlier version, or is a copy of
/// another thread.
async fn keep_recorded<C>(ctx: &Ctx<C>, workspace: &Workspace) -> Result<(), WorkspaceError> {
    let Some((store, thread)) = ctx.thread_store() else { return Ok(()) };
    keep_objects(&**store, thread, workspace).await
}

/// Keeps what the records of a thread name, unless that was done.
///
/// # Errors
/// Those of git.
pub async fn keep_objects(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    workspace: &Workspace,
) -> Result<(), WorkspaceError> {
    if workspace.keeps_recorded(thread.as_str()).await? {
        return Ok(());
    }
    // A damaged record is reported by whoever needs it.
    let Ok(ids) = hex_ids(store, thread).await else { return Ok(()) };
    workspace.keep_recorded(thread.as_str(), ids).await
}

/// Adjusts what is kept to the records that are left of a thread; without any, nothing is.
///
/// # Errors
/// Those of git.
pub async fn sweep_objects(
    store: &dyn Checkpointer,
    thread: &ThreadId,
    workspace: &Workspace,
) -> Result<(), WorkspaceError> {
    if !workspace.keeps_objects(thread.as_str()).await? {
        return Ok(());
    }
    let Ok(ids) = hex_ids(store, thread).await else { return Ok(()) };
    workspace.keep_only(thread.as_str(), ids).await
}

/// Ends the keeping of everything for a thread that was deleted. Its salvaged work is a person's, and remains.
///
/// # Errors
/// Those of git.
pub async fn release_objects(thread: &ThreadId, workspace: &Workspace) -> Result<(), WorkspaceError> {
    for folder in ["worktrees", "integrated"] {
        workspace.remove_references(thread.as_str(), folder).await?;
    }
    workspace.remove_integration(thread.as_str()).await?;
    workspace.keep_only(thread.as_str(), [].into()).await
}

/// Result of git calls, or the changes because of which git was not run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::nodes) enum GitOutcome<T> {
    Done(T),
    Tampered(Vec<String>),
}

/// Reason that work ended without a result.
#[derive(Debug)]
pub(in crate::nodes) enum Stop {
    /// Changes to hooks or configuration.
    Tampered(Vec<String>),
    Failed(NodeError),
}

impl From<NodeError> for Stop {
    fn from(error: NodeError) -> Self {
        Self::Failed(error)
    }
}

impl<T> GitOutcome<T> {
    pub(in crate::nodes) fn into_result(self) -> Result<T, Stop> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Tampered(what) => Err(Stop::Tampered(what)),
        }
    }
}

/// Runs an effect's work; converts a refused git call to a result.
pub(in crate::nodes) async fn catch_tampering<T>(
    work: impl Future<Output = Result<T, NodeError>>,
) -> Result<GitOutcome<T>, NodeError> {
    match work.await {
        Ok(done) => Ok(GitOutcome::Done(done)),
        Err(error) => tampering(&error).map(GitOutcome::Tampered).ok_or(error),
    }
}
