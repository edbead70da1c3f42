//! A subtask: its place in its group, its start and end in a worktree, its work for the integration and for git to keep, and
//! the collisions that keep it from the work of others. Knows no graph.

use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_base::time::{now, rfc3339};
use tokio::sync::OwnedSemaphorePermit;

use crate::graph::{Ctx, NodeError};
use crate::nodes::events::{EventPlace, PhaseEvent};
use crate::nodes::git::{Folder, failed, store, tampering_message, thread, unstore};
use crate::nodes::job::Context;
use crate::nodes::siblings::Siblings;
use crate::workspace::{BranchPositions, CommitId, SalvageKey, SalvagePhase, TreeId, Workspace, WorkspaceError};

/// A subtask in its group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The group.
    pub siblings: Siblings,
    /// The phase, subtask and attempt, for events.
    pub place: EventPlace,
    /// True if its failure stops the others.
    pub stops_others: bool,
}

/// Permission of a subtask to work, until dropped; none: the group was stopped before it started.
pub(crate) type Turnstile = Option<OwnedSemaphorePermit>;

/// The end of a subtask.
#[derive(Clone, Debug)]
pub struct EndSubtask {
    /// The work tree of the run.
    pub repository: Folder,
    /// The worktree; none: it was not created.
    pub worktree: Option<Folder>,
    /// True if the subtask continues in it later.
    pub is_paused: bool,
    /// Position of HEAD and the branches at its start; none: the worktree was not used.
    pub at: Option<BranchPositions>,
    /// The last commit that people made in the worktree beneath its work; none: there is none.
    pub commits: Option<CommitId>,
    /// The start of its last turn, if what was moved in git during it could not be put back.
    pub unfolded: Option<BranchPositions>,
    /// Its files at the start.
    pub from: Option<TreeId>,
    /// Its files; none: they are read from the worktree.
    pub tree: Option<TreeId>,
    /// Salvage key for its work, if it is set aside.
    pub aside: Option<KeptPart>,
    /// Reason of its failure.
    pub error: Option<String>,
    /// True if it was stopped: because a sibling failed, or by a person.
    pub is_cancelled: bool,
}

/// An ended subtask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedSubtask {
    /// The time, as RFC 3339.
    pub at: String,
    /// Its files.
    pub tree: Option<TreeId>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// The reference that keeps its work, if it was set aside.
    pub salvage: Option<String>,
    /// Branches and commits of people in its worktree, which remain: a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

impl Lane {
    /// Waits for a place in the group.
    ///
    /// # Errors
    /// None but a defect of this library.
    pub async fn enter<C: Context>(&self, ctx: &Ctx<C>) -> Result<Turnstile, NodeError> {
        Ok(self.siblings.join(ctx).await?.enter().await)
    }

    /// Emits the start of the subtask, once; returns the time as RFC 3339.
    ///
    /// # Errors
    /// Those of the run.
    pub async fn begin<C: Context>(&self, ctx: &Ctx<C>) -> Result<String, NodeError> {
        let begin = |_| async { Ok::<_, NodeError>(PhaseEvent::SubtaskStarted(self.place.clone()).emit(ctx).await) };
        ctx.effect("begin", &self.place, begin).await
    }

    /// Returns why the group was stopped, as of the first call; none if it was not.
    ///
    /// # Errors
    /// Those of the run.
    pub async fn stop_reason<C: Context>(&self, ctx: &Ctx<C>) -> Result<Option<String>, NodeError> {
        let look = |_| async { Ok::<_, NodeError>(self.siblings.join(ctx).await?.stop_reason()) };
        ctx.effect("stopped", &self.siblings, look).await
    }

    /// Ends the subtask: a failure stops its siblings, work that is set aside is kept in git, the worktree is removed.
    ///
    /// # Errors
    /// If git fails.
    pub async fn end<C: Context>(&self, end: &EndSubtask, ctx: &Ctx<C>) -> Result<EndedSubtask, NodeError> {
        let tree = match (&end.tree, &end.from) {
            // Stored before the worktree is removed: a process that resumes after a kill may not find it.
            (None, Some(from)) => ctx.effect("end/files", &(&end.worktree, from), |_| self.files(end, ctx)).await?,
            (tree, _) => tree.clone(),
        };
        let arguments = (&end.worktree, &end.from, &tree, &end.aside, &end.error);
        ctx.effect("end", &arguments, |_| self.end_once(end, tree.clone(), ctx)).await
    }

    /// Takes a snapshot of the subtask's files, once its siblings are stopped.
    async fn files<C: Context>(&self, end: &EndSubtask, ctx: &Ctx<C>) -> Result<Option<TreeId>, NodeError> {
        self.stop_others(end, ctx).await?;
        end.files_now(ctx).await
    }

    /// Stops the siblings of a failed subtask.
    async fn stop_others<C: Context>(&self, end: &EndSubtask, ctx: &Ctx<C>) -> Result<(), NodeError> {
        let Some(error) = end.error.as_ref().filter(|_| self.stops_others && !end.is_cancelled) else { return Ok(()) };
        let id = self.place.subtask_id.as_deref().unwrap_or_default();
        self.siblings.join(ctx).await?.stop(&format!("cancelled: subtask {id} failed"))?;
        tracing::debug!(subtask = id, %error, "a subtask failed; its siblings are cancelled");
        Ok(())
    }

    async fn end_once<C: Context>(
        &self,
        end: &EndSubtask,
        tree: Option<TreeId>,
        ctx: &Ctx<C>,
    ) -> Result<EndedSubtask, NodeError> {
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
            if let (Some(worktree), Some(tree)) = (&end.worktree, &tree) {
                store(worktree, Some(tree), ctx).await?;
            }
            return Ok(EndedSubtask { at: rfc3339(now()), tree, files, salvage, notices: vec![] });
        }
        let mut notices = vec![];
        if let Some(worktree) = &end.worktree {
            notices = self.left_by_people(end, &worktree.directory, &repository, ctx).await.map_err(failed)?;
            repository.remove_worktree(&worktree.directory).await.map_err(failed)?;
            unstore(&repository, &worktree.directory, ctx).await?;
        }
        let place = EventPlace { reason: end.error.clone(), ..self.place.clone() };
        let event = match &end.error {
            Some(_) => PhaseEvent::SubtaskFailed(place),
            None => PhaseEvent::SubtaskCompleted(place),
        };
        Ok(EndedSubtask { at: event.emit(ctx).await, tree, files, salvage, notices })
    }

    /// Removes the branches that agents created in a worktree, keeps the commits that people made there on no branch, and
    /// names what remains.
    async fn left_by_people<C: Context>(
        &self,
        end: &EndSubtask,
        worktree: &Path,
        repository: &Workspace,
        ctx: &Ctx<C>,
    ) -> Result<Vec<String>, WorkspaceError> {
        let id = self.place.subtask_id.as_deref().unwrap_or_default();
        if let Some(turn) = &end.unfolded {
            repository.remove_branches_of(worktree, turn, &thread(ctx)).await?;
        }
        let left = match &end.at {
            Some(at) => repository.branches_of(worktree, at).await?,
            None => vec![],
        };
        let branches = left.iter().map(|made| format!("{made} in the worktree of subtask {id}, and is not removed"));
        let beneath = match &end.commits {
            Some(last) => Some(repository.keep_commits(&thread(ctx), last).await?),
            None => None,
        };
        let beneath = beneath.map(|kept| {
            format!("commits of people in the worktree of subtask {id} are beneath its work; they are kept as `{kept}`")
        });
        let head = repository.keep_head_of(worktree, &thread(ctx)).await?;
        let above = head.map(|kept| {
            format!(
                "commits of people in the worktree of subtask {id} are not part of its work; they are kept as `{kept}`"
            )
        });
        Ok(branches.chain(beneath).chain(above).collect())
    }
}

impl EndSubtask {
    /// Takes a snapshot of the worktree; none if it is gone.
    async fn files_now<C>(&self, ctx: &Ctx<C>) -> Result<Option<TreeId>, NodeError> {
        let worktree = self.worktree.as_ref().filter(|worktree| is_there(&worktree.directory));
        let Some(worktree) = worktree else { return Ok(None) };
        // Its agent may have changed which programs git runs.
        let repository = Folder { apart: worktree.apart.clone(), ..self.repository.clone() };
        let repository = repository.open_for(ctx).await.map_err(failed)?;
        let guarded = repository.guarded_worktree(&worktree.directory).await.map_err(failed)?;
        Ok(Some(guarded.snapshot().await.map_err(failed)?.tree))
    }
}

fn is_there(folder: &Path) -> bool {
    superstep_base::moved::present_path(folder).symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// Work of a subtask to integrate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The subtask's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its files at the start.
    pub from: TreeId,
    /// Its files.
    pub tree: TreeId,
    /// Paths and globs of the files that it declares; empty: it declares none.
    pub declared: Vec<String>,
    /// Commands that must succeed from this commit on.
    pub verify: Vec<String>,
    /// The message of its commit, subject first.
    pub message: String,
    /// The phase, from 1.
    pub phase: u32,
    /// The attempt of the phase, from 1.
    pub attempt: u32,
    /// The commit at its start.
    pub at: Option<CommitId>,
    /// The last commit that people made in its worktree; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitId>,
    /// True for the work of the run on the integrated tree.
    pub second: bool,
    /// True if a person accepted it: commands that fail with it do not count any more.
    pub accepted: bool,
}

impl Part {
    pub(in crate::nodes) fn place(&self, collision: &Collision) -> EventPlace {
        EventPlace {
            phase_index: self.phase.saturating_sub(1),
            subtask_id: Some(self.id.clone()),
            title: self.title.clone(),
            attempt: self.attempt,
            time: String::new(),
            reason: Some(collision.message()),
        }
    }

    pub(in crate::nodes) fn to_kept(&self) -> KeptPart {
        KeptPart {
            id: self.id.clone(),
            phase: self.phase,
            attempt: self.attempt,
            second: self.second,
            at: self.at.clone(),
            tree: self.tree.clone(),
        }
    }
}

/// Reason that ended the integration at a subtask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collision {
    /// Its changes conflict with those of earlier commits in these files.
    Conflict {
        /// The files.
        files: Vec<String>,
        /// Changed files that it does not declare.
        #[serde(default)]
        undeclared: Vec<String>,
        /// True if no work is before it: its changes collide with those that the setup of its worktree made.
        #[serde(default)]
        is_with_setup: bool,
    },
    /// Commits that people made in its worktree conflict with those of others in these files.
    Commits {
        /// The files.
        files: Vec<String>,
        /// The reference that keeps the commits.
        kept: String,
    },
    /// A command fails on the files with its work.
    Check {
        /// The command with the end of its output.
        report: String,
    },
    /// It changed files that it does not declare.
    Undeclared {
        /// The files.
        files: Vec<String>,
    },
    /// A command changed git's hooks or configuration.
    Tampered {
        /// The changed files.
        what: Vec<String>,
    },
}

impl Collision {
    /// Returns true if the subtask may run once more on the work before it.
    pub fn can_be_mended(&self) -> bool {
        matches!(self, Self::Conflict { is_with_setup: false, .. } | Self::Check { .. })
    }

    /// Describes the collision.
    pub fn message(&self) -> String {
        match self {
            Self::Conflict { files, undeclared, is_with_setup } => {
                let those = if *is_with_setup { "that `setup` made" } else { "of subtasks before it" };
                let more = match undeclared.join(", ") {
                    none if none.is_empty() => none,
                    names => format!("; it does not declare {names}"),
                };
                format!("its changes collide with those {those}: {}{more}", files.join(", "))
            }
            Self::Commits { files, kept } => {
                let files = files.join(", ");
                format!("commits of people in its worktree collide with those of others: {files}; `{kept}` keeps them")
            }
            Self::Check { report } => format!("a check fails once it is put together with the others: {report}"),
            Self::Undeclared { files } => format!("it changed files that it does not declare: {}", files.join(", ")),
            Self::Tampered { what } => tampering_message("a check", what),
        }
    }
}

/// Returns the files that no path or glob matches; none if nothing is declared.
pub(super) fn undeclared_files(files: &[String], declared: &[String]) -> Vec<String> {
    let is_declared = |file: &&String| declared.iter().any(|glob| crate::plan::covers(glob, file));
    if declared.is_empty() { vec![] } else { files.iter().filter(|file| !is_declared(file)).cloned().collect() }
}

/// Work of a subtask to keep in git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPart {
    /// The subtask's id.
    pub id: String,
    /// The phase, from 1.
    pub phase: u32,
    /// The attempt of the phase, from 1.
    pub attempt: u32,
    /// True for the work of the run on the integrated tree.
    pub second: bool,
    /// The commit at its start.
    pub at: Option<CommitId>,
    /// Its files.
    pub tree: TreeId,
}

/// Keeps the work of subtasks in git; returns the references.
pub(super) async fn keep<C: Context>(
    parts: &[KeptPart],
    repository: &Folder,
    ctx: &Ctx<C>,
) -> Result<Vec<String>, NodeError> {
    if parts.is_empty() {
        return Ok(vec![]);
    }
    let keep = |_| async {
        let mut references = vec![];
        for part in parts {
            references.push(keep_one(part, repository, ctx).await?);
        }
        Ok::<_, NodeError>(references)
    };
    ctx.effect("keep", parts, keep).await
}

pub(super) async fn keep_one<C: Context>(
    part: &KeptPart,
    repository: &Folder,
    ctx: &Ctx<C>,
) -> Result<String, NodeError> {
    let phase = SalvagePhase { phase: part.phase, nth: 1 + u32::from(part.second) };
    let key = SalvageKey { thread: thread(ctx), task: part.id.clone(), attempt: part.attempt, phase: Some(phase) };
    let workspace = repository.open().await?;
    Ok(workspace.salvage(&key, part.at.as_ref(), &part.tree).await.map_err(failed)?.reference)
}
