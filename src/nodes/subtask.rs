//! The beginning and the end of a subtask that works in a worktree of its own: its place among its siblings, its events, what is
//! kept of its work. Knows no graph.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;

use super::folder::{Folder, failed, thread};
use super::phase::{KeptPart, keep_one};
use super::phase_event::{PhaseEvent, Place};
use super::siblings::Siblings;
use crate::checkpoint::time::{now, rfc3339};
use crate::graph::{Ctx, NodeError};
use crate::workspace::{Standing, TreeId};

/// A subtask among its siblings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The group that it works in.
    pub siblings: Siblings,
    /// The phase, subtask and attempt, for events.
    pub place: Place,
    /// True if its failure stops the others.
    pub stops_others: bool,
}

/// The right of a subtask to work, until dropped; none: the group was stopped before it began.
pub type Turnstile = Option<OwnedSemaphorePermit>;

/// The end of a subtask.
#[derive(Clone, Debug)]
pub struct EndSubtask {
    /// The work tree of the run.
    pub repository: Folder,
    /// The worktree; none: it was not made.
    pub worktree: Option<Folder>,
    /// True if the subtask continues in it later.
    pub is_paused: bool,
    /// The position of HEAD and the branches with which it began; none: nobody worked in the worktree.
    pub at: Option<Standing>,
    /// The files with which it began.
    pub from: Option<TreeId>,
    /// Its files; none: they are read from the worktree.
    pub tree: Option<TreeId>,
    /// The place of its work in git, if that is put aside.
    pub aside: Option<KeptPart>,
    /// The reason for which it failed.
    pub error: Option<String>,
    /// True if it was stopped: because a sibling failed, or by a person.
    pub is_cancelled: bool,
}

/// A subtask that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSubtask {
    /// The time, as RFC 3339.
    pub at: String,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// The reference that holds its work, if that was put aside.
    pub salvage: Option<String>,
}

impl Lane {
    /// Waits for a place among the siblings.
    ///
    /// # Errors
    /// None but a defect of this library.
    pub async fn enter<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<Turnstile, NodeError> {
        Ok(self.siblings.join(ctx).await?.enter().await)
    }

    /// Tells that the subtask begins, once; returns the time as RFC 3339.
    ///
    /// # Errors
    /// Those of the run.
    pub async fn begin<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<String, NodeError> {
        let begin = |_| async { Ok::<_, NodeError>(PhaseEvent::SubtaskStarted(self.place.clone()).emit(ctx).await) };
        ctx.effect("begin", &self.place, begin).await
    }

    /// Returns why the group was stopped, as it was when this was asked first; none if it was not.
    ///
    /// # Errors
    /// Those of the run.
    pub async fn stopped<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>) -> Result<Option<String>, NodeError> {
        let look = |_| async { Ok::<_, NodeError>(self.siblings.join(ctx).await?.stopped()) };
        ctx.effect("stopped", &self.siblings, look).await
    }

    /// Ends the subtask: a failure stops its siblings, work that is put aside is kept in git, the worktree goes.
    ///
    /// # Errors
    /// If git fails.
    pub async fn end<C>(&self, end: &EndSubtask, ctx: &Ctx<C>) -> Result<EndedSubtask, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let tree = match (&end.tree, &end.from) {
            // Stored before the worktree goes: a process that resumes after a kill may not find it.
            (None, Some(from)) => ctx.effect("end/files", &(&end.worktree, from), |_| self.files(end, ctx)).await?,
            (tree, _) => tree.clone(),
        };
        let arguments = (&end.worktree, &end.from, &tree, &end.aside, &end.error);
        ctx.effect("end", &arguments, |_| self.ended(end, tree.clone(), ctx)).await
    }

    /// The files as the subtask left them, once its siblings are stopped.
    async fn files<C>(&self, end: &EndSubtask, ctx: &Ctx<C>) -> Result<Option<TreeId>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        self.stop_others(end, ctx).await?;
        end.files_now().await
    }

    /// Stops the siblings of a subtask that failed.
    async fn stop_others<C>(&self, end: &EndSubtask, ctx: &Ctx<C>) -> Result<(), NodeError>
    where
        C: Send + Sync + 'static,
    {
        let Some(error) = end.error.as_ref().filter(|_| self.stops_others && !end.is_cancelled) else { return Ok(()) };
        let id = self.place.subtask_id.as_deref().unwrap_or_default();
        self.siblings.join(ctx).await?.stop(&format!("cancelled: subtask {id} failed"))?;
        tracing::debug!(subtask = id, %error, "a subtask failed; its siblings are cancelled");
        Ok(())
    }

    async fn ended<C>(&self, end: &EndSubtask, tree: Option<TreeId>, ctx: &Ctx<C>) -> Result<EndedSubtask, NodeError>
    where
        C: Send + Sync + 'static,
    {
        self.stop_others(end, ctx).await?;
        let repository = end.repository.open().await?;
        let files = match (&end.from, &tree) {
            (Some(from), Some(tree)) => repository.changed_files(from, tree).await.map_err(failed)?,
            _ => vec![],
        };
        let salvage = match (&end.aside, &tree) {
            (Some(part), Some(tree)) if !files.is_empty() => {
                let part = KeptPart { tree: tree.clone(), ..part.clone() };
                Some(keep_one(&part, &end.repository, ctx).await?)
            }
            _ => None,
        };
        if end.is_paused {
            return Ok(EndedSubtask { at: rfc3339(now()), tree, files, salvage });
        }
        if let Some(worktree) = &end.worktree {
            if let Some(at) = &end.at {
                repository.remove_branches_of(&worktree.directory, at, &thread(ctx)).await.map_err(failed)?;
            }
            repository.remove_worktree(&worktree.directory).await.map_err(failed)?;
        }
        let place = Place { reason: end.error.clone(), ..self.place.clone() };
        let event = match &end.error {
            Some(_) => PhaseEvent::SubtaskFailed(place),
            None => PhaseEvent::SubtaskCompleted(place),
        };
        Ok(EndedSubtask { at: event.emit(ctx).await, tree, files, salvage })
    }
}

impl EndSubtask {
    /// The files in the worktree; none if that is gone.
    async fn files_now(&self) -> Result<Option<TreeId>, NodeError> {
        let worktree = self.worktree.as_ref().filter(|worktree| is_there(&worktree.directory));
        let Some(worktree) = worktree else { return Ok(None) };
        // Its agent may have changed what git runs.
        let repository = Folder { apart: worktree.apart.clone(), ..self.repository.clone() }.open().await?;
        let guarded = repository.guarded_worktree(&worktree.directory).await.map_err(failed)?;
        Ok(Some(guarded.snapshot().await.map_err(failed)?.tree))
    }
}

fn is_there(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|about| about.is_dir())
}
