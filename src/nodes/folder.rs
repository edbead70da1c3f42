//! The repository that agents work in, as nodes use it: each change is an effect of the task, so that it happens once
//! and a replay needs no repository. The git operations are in `workspace`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::kept_objects::keep_recorded;
use super::notice::{note_pending, pending_notices};
use super::on_top::{on_top, placed_files, reset_on_top, without_turn};
use crate::graph::{Ctx, NodeError};
use crate::process::Key;
use crate::workspace::{
    BranchMove, CommitId, Fingerprint, Head, LeftOut, SalvageKey, Standing, TreeId, Workspace, WorkspaceError,
    WorkspaceOptions,
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
    pub at: Standing,
    /// The files.
    pub tree: TreeId,
}

/// The work of an attempt, to keep in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The task's number.
    pub task: String,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The commit at the start of the task; none: there was none yet.
    pub commit: Option<CommitId>,
    /// The files.
    pub tree: TreeId,
}

/// The traces of an agent, or of a command of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// Changes of git's hooks and configuration. If there are any, nothing else is known: no git command was run.
    pub tampered: Vec<String>,
    /// The files.
    pub tree: Option<TreeId>,
    /// Notices for a person: commits taken back, branches that were moved, files left out.
    pub notices: Vec<String>,
    /// Changes that no commit will contain, with the reason: a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Position of HEAD then, on top of commits that people made meanwhile. None: HEAD or its branch were moved in another
    /// way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Standing>,
    /// The move of the run's branch by somebody else, found after a person's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) moved: Option<BranchMove>,
    /// The reason why git cannot work there: a merge or a lock that was left. Nothing else is known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

impl After {
    /// Returns whether git could not be run, so that nothing was put back.
    pub(super) fn is_unfolded(&self) -> bool {
        !self.tampered.is_empty() || self.left.is_some()
    }
}

/// The traces of an agent after one request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum AfterRequest {
    /// Changes of git's hooks and configuration.
    Tampered(Vec<String>),
    /// The same, with notices about what was put back, and the position on top of commits that people made meanwhile.
    Folded {
        tampered: Vec<String>,
        notices: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Box<Standing>>,
    },
}

impl AfterRequest {
    pub(super) fn into_parts(self) -> (Vec<String>, Vec<String>, Option<Standing>) {
        match self {
            Self::Tampered(tampered) => (tampered, vec![], None),
            Self::Folded { tampered, notices, at } => (tampered, notices, at.map(|at| *at)),
        }
    }
}

/// The findings about the time in which an agent or a command worked.
#[derive(Clone, Debug, Default)]
pub(super) struct TamperCheck {
    /// Changes of git's hooks and configuration.
    pub(super) tampered: Vec<String>,
    /// True if siblings work in the same repository, each of which may change them at any time: that is no failure of
    /// git then.
    pub(super) is_shared: bool,
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
    pub(super) async fn open_for<C>(&self, ctx: &Ctx<C>) -> Result<Workspace, WorkspaceError> {
        let options = match ctx.thread() {
            Some(thread) => self.options().thread(thread.as_str()),
            None => self.options(),
        };
        Workspace::open_with(&self.directory, options).await
    }

    /// Removes the references to the files of worktrees at the end of the work of a thread. Its trees and commits are still
    /// kept: a fork of any of its checkpoints needs them. It is no effect: records of earlier versions have none, and
    /// repeating it does no harm.
    pub(super) async fn worktrees_unneeded<C>(&self, ctx: &Ctx<C>) -> Result<(), NodeError> {
        let Some((_, thread)) = ctx.store() else { return Ok(()) };
        let workspace = self.open().await?;
        workspace.forget_turns(thread.as_str()).await.map_err(failed)?;
        workspace.remove_references(thread.as_str(), "worktrees").await.map_err(failed)
    }

    fn options(&self) -> WorkspaceOptions {
        self.apart.iter().fold(WorkspaceOptions::new(), WorkspaceOptions::apart)
    }

    /// Opens the repository and locks it for the run: other runs are refused in this work tree until this one ends, is
    /// interrupted or dies.
    ///
    /// # Errors
    /// As [`Workspace::lock`], which names who works there, and as [`open`](Self::open).
    pub async fn hold<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<Workspace, NodeError> {
        self.hold_workspace(ctx).await.map_err(failed)
    }

    /// The same, with git's error.
    pub(super) async fn hold_workspace<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
    ) -> Result<Workspace, WorkspaceError> {
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
    pub(super) async fn go_back<C>(&self, ctx: &Ctx<C>, own: &str, to: &Head) -> Result<Option<String>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let back = |_| async { self.hold(ctx).await?.go_back(own, to).await.map_err(failed) };
        let stays: Option<String> = ctx.effect("back", &(own, to), back).await?;
        Ok(stays.map(|why| format!("the checkout stays on `{own}`: {why}")))
    }

    /// Returns the fingerprint of git's hooks and configuration, before somebody may change them.
    pub(super) async fn guard<C>(&self, ctx: &Ctx<C>, key: &str) -> Result<Fingerprint, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let look = |_| async { self.hold(ctx).await?.fingerprint().await.map_err(failed) };
        ctx.effect(format!("{key}/before"), &(), look).await
    }

    /// Returns the changes since then.
    pub(super) async fn tampered<C>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        guard: &Fingerprint,
    ) -> Result<Vec<String>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        ctx.effect(format!("{key}/after"), &guard.digest(), |_| self.differs(ctx, guard)).await
    }

    /// The same after a request of an agent that works at `at`: commits that it made are taken back at once, so that later
    /// ones are known to be a person's.
    pub(super) async fn after_request<C>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        guard: &Fingerprint,
        at: &Standing,
    ) -> Result<AfterRequest, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let look = |_| async {
            let tampered = self.differs(ctx, guard).await?;
            if !tampered.is_empty() {
                return Ok(AfterRequest::Tampered(tampered));
            }
            let folded = async {
                let workspace = self.hold_workspace(ctx).await?;
                let mut notices = self.fold(ctx, &workspace, at).await?;
                notices.extend(pending_notices(ctx).await);
                Ok((notices, on_top(&thread(ctx), &workspace, at).await?.map(without_turn)))
            };
            match folded.await {
                Ok((notices, at)) => Ok(AfterRequest::Folded { tampered, notices, at: at.map(Box::new) }),
                Err(WorkspaceError::Tampered { changes }) => Ok(AfterRequest::Tampered(changes)),
                // What follows the turn reports it.
                Err(error) if is_left(&error) => Ok(AfterRequest::Folded { tampered, notices: vec![], at: None }),
                Err(error) => Err(failed(error)),
            }
        };
        ctx.effect(format!("{key}/after"), &guard.digest(), look).await
    }

    /// Returns the present differences.
    pub(super) async fn differs<C>(&self, ctx: &Ctx<C>, guard: &Fingerprint) -> Result<Vec<String>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let now = self.hold(ctx).await?.fingerprint().await.map_err(failed)?;
        Ok(guard.changes(&now).iter().map(ToString::to_string).collect())
    }

    /// Returns the effects since the start of a task: undoes commits that agents made during their turns, keeping their
    /// changes in the files, and takes a snapshot. Other commits are people's, and stay. After tampering, no git command is
    /// run. Call it once per task, after its agent has ended.
    ///
    /// # Errors
    /// If the repository cannot be read, or commits cannot be taken back.
    pub async fn after<C>(&self, ctx: &Ctx<C>, tampered: Vec<String>, base: &Base) -> Result<After, NodeError>
    where
        C: Send + Sync + 'static,
    {
        self.after_as(ctx, "after", base, TamperCheck { tampered, is_shared: false }).await
    }

    /// The same with another key, for nodes that call it more than once, and for those with siblings.
    pub(super) async fn after_as<C>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
        seen: TamperCheck,
    ) -> Result<After, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let TamperCheck { tampered, is_shared } = seen;
        if !tampered.is_empty() {
            return Ok(After { tampered, ..After::default() });
        }
        let look = |_| async {
            match self.effects_since(ctx, base).await {
                Err(WorkspaceError::Tampered { changes }) if is_shared => {
                    Ok(After { tampered: changes, ..After::default() })
                }
                Err(error) if is_shared && is_left(&error) => {
                    let left = Some(format!("its work left git in the middle of something: {error}"));
                    Ok(After { left, ..After::default() })
                }
                Err(WorkspaceError::Ongoing { .. }) if self.quits(ctx, base).await? => {
                    self.effects_since(ctx, base).await.map_err(failed)
                }
                effects_since => effects_since.map_err(failed),
            }
        };
        ctx.effect(key, &base.at, look).await
    }

    /// Ends an operation of git that the agent of a turn left unfinished; one that began after its turn is a person's.
    async fn quits<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>, base: &Base) -> Result<bool, NodeError> {
        let Some(since) = base.at.started else { return Ok(false) };
        let Some(what) = self.hold(ctx).await?.quit_left(since).await.map_err(failed)? else { return Ok(false) };
        let notice = format!("a {what} that was left unfinished was ended; the files are as it left them");
        note_pending(ctx, notice).await;
        Ok(true)
    }

    /// Takes a snapshot of the files after a person has decided: they may hold the person's changes, and traces of an agent
    /// after which git could not be run. `at` is the position of HEAD then, on top of commits of people.
    pub(super) async fn snapshot_after_decision<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        base: &Base,
    ) -> Result<After, NodeError> {
        let at = Standing { others: BTreeMap::new(), ..base.at.clone() };
        let look = |_| async { self.settled_files(ctx, &base.at).await.map_err(failed) };
        ctx.effect("settle", &at, look).await
    }

    async fn settled_files<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        at: &Standing,
    ) -> Result<After, WorkspaceError> {
        let workspace = self.hold_workspace(ctx).await?;
        workspace.ensure_ready().await?;
        let moved = workspace.foreign_move(at).await?;
        let at = match moved {
            Some(_) => at.clone(),
            None => Standing { commit: workspace.own_head(at).await?.commit().cloned(), ..at.clone() },
        };
        let snapshot = workspace.snapshot().await?;
        let notices = snapshot.left_out.iter().map(LeftOut::to_string).chain(pending_notices(ctx).await).collect();
        let left_out = vec![];
        Ok(After { tree: Some(snapshot.tree), notices, left_out, at: Some(at), moved, ..After::default() })
    }

    async fn effects_since<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        base: &Base,
    ) -> Result<After, WorkspaceError> {
        let workspace = self.hold_workspace(ctx).await?;
        let folded = self.fold(ctx, &workspace, &base.at).await?;
        if workspace.foreign_move(&base.at).await?.is_none() {
            workspace.own_head(&base.at).await?;
        }
        let (snapshot, at) = placed_files(&thread(ctx), &workspace, &base.at).await?;
        let mut all = snapshot.left_out;
        if let Some(since) = base.at.started {
            all.extend(workspace.unseen(since).await?);
            all.extend(self.unseen_commits(ctx, &workspace, &base.at).await?);
        }
        let left_out = LeftOut::lines(&all);
        let notices = left_out.iter().cloned().chain(folded).chain(pending_notices(ctx).await).collect();
        Ok(After { tree: Some(snapshot.tree), notices, left_out, at, ..After::default() })
    }

    /// Keeps the work of an attempt and returns its reference; `effect` is the key within the node.
    pub(super) async fn keep<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        effect: &str,
        kept: &Kept,
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
    pub(super) async fn checkout_head<C: Send + Sync + 'static>(
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
            let notice = format!("a {what} of a killed turn was ended; the files are as it left them");
            note_pending(ctx, notice).await;
        }
        if workspace.foreign_move(&base.at).await.map_err(failed)?.is_none() {
            workspace.own_head(&base.at).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Returns the keys of this process that the files contain and the base does not, each as a line with file and line
    /// number.
    pub(super) async fn leaked(&self, from: &TreeId, to: &TreeId) -> Result<Vec<String>, NodeError> {
        let found = self.open().await?.leaked_keys(from, to, Key::known()).await.map_err(failed)?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    /// The same for the current files.
    pub(super) async fn leaks_now(&self, from: &TreeId) -> Result<Vec<String>, NodeError> {
        let snapshot = self.open().await?.snapshot().await.map_err(failed)?;
        self.leaked(from, &snapshot.tree).await
    }

    /// Resets the files to the reviewed ones, and returns those that differed. `base` is the position of both.
    pub(super) async fn undo<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        (base, tree): (&Standing, &TreeId),
    ) -> Result<Vec<String>, NodeError> {
        let undo = |_| async {
            let workspace = self.hold(ctx).await?;
            let reset = reset_on_top(&thread(ctx), &workspace, base, tree).await.map_err(failed)?;
            Ok::<_, NodeError>([reset.removed, reset.written].concat())
        };
        ctx.effect(key, tree, undo).await
    }

    /// Resets the files to those of a position.
    pub(super) async fn reset<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        base: &Standing,
        tree: &TreeId,
    ) -> Result<(), NodeError> {
        let reset = |_| async {
            let workspace = self.hold(ctx).await?;
            reset_on_top(&thread(ctx), &workspace, base, tree).await.map(drop).map_err(failed)
        };
        ctx.effect("reset", tree, reset).await
    }
}

/// Returns whether whoever worked in a work tree left it so that git cannot go on there.
fn is_left(error: &WorkspaceError) -> bool {
    matches!(
        error,
        WorkspaceError::Ongoing { .. } | WorkspaceError::Locked { .. } | WorkspaceError::HeadElsewhere { .. }
    )
}

/// Returns the sentence about changes of git's hooks and configuration.
pub(crate) fn tampering_message(who: &str, what: &[String]) -> String {
    format!("{who} changed git's hooks or configuration: {}", what.join(", "))
}

/// Returns the thread's name for git; a run without a thread is `run`.
pub(super) fn thread<C>(ctx: &Ctx<C>) -> String {
    ctx.thread().map_or_else(|| "run".to_owned(), |thread| thread.as_str().to_owned())
}

/// Converts git's error to a node's, with its help.
pub(super) fn failed(error: WorkspaceError) -> NodeError {
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
