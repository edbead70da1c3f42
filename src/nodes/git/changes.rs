//! Changes in a work tree: the traces of an agent or a command in files and in git, and the differences between two trees
//! for agents and people. Must not know what follows from them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;

use super::folder::{Base, Folder, failed, thread};
use super::on_top::{on_top, placed_files, without_turn};
use crate::graph::{Ctx, NodeError};
use crate::nodes::events::{note_pending, pending_notices};
use crate::nodes::job::Context;
use crate::nodes::prompts::PromptDiff;
use crate::workspace::{
    BranchMove, BranchPositions, FileDiff, FileStatus, GitFingerprint, OmittedFile, TreeId, WorkspaceError,
};

/// The traces of an agent, or of a command of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traces {
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
    pub(in crate::nodes) at: Option<BranchPositions>,
    /// The move of the run's branch by somebody else, found after a person's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::nodes) moved: Option<BranchMove>,
    /// The reason why git cannot work there: a merge or a lock that was left. Nothing else is known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

impl Traces {
    /// Returns whether git could not be run, so that nothing was put back.
    pub(in crate::nodes) fn is_unfolded(&self) -> bool {
        !self.tampered.is_empty() || self.left.is_some()
    }
}

/// The traces of an agent after one request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(in crate::nodes) enum RequestTraces {
    /// Changes of git's hooks and configuration.
    Tampered(Vec<String>),
    /// The same, with notices about what was put back, and the position on top of commits that people made meanwhile.
    Folded {
        tampered: Vec<String>,
        notices: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Box<BranchPositions>>,
    },
}

impl RequestTraces {
    pub(in crate::nodes) fn into_parts(self) -> (Vec<String>, Vec<String>, Option<BranchPositions>) {
        match self {
            Self::Tampered(tampered) => (tampered, vec![], None),
            Self::Folded { tampered, notices, at } => (tampered, notices, at.map(|at| *at)),
        }
    }
}

/// The findings about the time in which an agent or a command worked.
#[derive(Clone, Debug, Default)]
pub(in crate::nodes) struct TamperCheck {
    /// Changes of git's hooks and configuration.
    pub(in crate::nodes) tampered: Vec<String>,
    /// True if siblings work in the same repository, each of which may change them at any time: that is no failure of
    /// git then.
    pub(in crate::nodes) is_shared: bool,
}

impl Folder {
    /// Returns the fingerprint of git's hooks and configuration, before somebody may change them.
    pub(in crate::nodes) async fn guard<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
    ) -> Result<GitFingerprint, NodeError> {
        let look = |_| async { self.hold(ctx).await?.fingerprint().await.map_err(failed) };
        ctx.effect(format!("{key}/before"), &(), look).await
    }

    /// Returns the changes since then.
    pub(in crate::nodes) async fn tampering_since<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        guard: &GitFingerprint,
    ) -> Result<Vec<String>, NodeError> {
        ctx.effect(format!("{key}/after"), &guard.digest(), |_| self.differs(ctx, guard)).await
    }

    /// The same after a request of an agent that works at `at`: commits that it made are taken back at once, so that later
    /// ones are known to be a person's.
    pub(in crate::nodes) async fn after_request<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        guard: &GitFingerprint,
        at: &BranchPositions,
    ) -> Result<RequestTraces, NodeError> {
        let look = |_| async {
            let tampered = self.differs(ctx, guard).await?;
            if !tampered.is_empty() {
                return Ok(RequestTraces::Tampered(tampered));
            }
            let folded = async {
                let workspace = self.hold_workspace(ctx).await?;
                let mut notices = self.fold(ctx, &workspace, at).await?;
                notices.extend(pending_notices(ctx).await);
                Ok((notices, on_top(&thread(ctx), &workspace, at).await?.map(without_turn)))
            };
            match folded.await {
                Ok((notices, at)) => Ok(RequestTraces::Folded { tampered, notices, at: at.map(Box::new) }),
                Err(WorkspaceError::Tampered { changes }) => Ok(RequestTraces::Tampered(changes)),
                // What follows the turn reports it.
                Err(error) if is_left(&error) => Ok(RequestTraces::Folded { tampered, notices: vec![], at: None }),
                Err(error) => Err(failed(error)),
            }
        };
        ctx.effect(format!("{key}/after"), &guard.digest(), look).await
    }

    /// Returns the present differences.
    pub(in crate::nodes) async fn differs<C: Context>(
        &self,
        ctx: &Ctx<C>,
        guard: &GitFingerprint,
    ) -> Result<Vec<String>, NodeError> {
        let now = self.hold(ctx).await?.fingerprint().await.map_err(failed)?;
        Ok(guard.changes(&now).iter().map(ToString::to_string).collect())
    }

    /// Returns the effects since the start of a task: undoes commits that agents made during their turns, keeping their
    /// changes in the files, and takes a snapshot. Other commits are people's, and stay. After tampering, no git command is
    /// run. Call it once per task, after its agent has ended.
    ///
    /// # Errors
    /// If the repository cannot be read, or commits cannot be taken back.
    pub async fn after<C: Context>(
        &self,
        ctx: &Ctx<C>,
        tampered: Vec<String>,
        base: &Base,
    ) -> Result<Traces, NodeError> {
        self.after_as(ctx, "after", base, TamperCheck { tampered, is_shared: false }).await
    }

    /// The same with another key, for nodes that call it more than once, and for those with siblings.
    pub(in crate::nodes) async fn after_as<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
        seen: TamperCheck,
    ) -> Result<Traces, NodeError> {
        let TamperCheck { tampered, is_shared } = seen;
        if !tampered.is_empty() {
            return Ok(Traces { tampered, ..Traces::default() });
        }
        let look = |_| async {
            match self.effects_since(ctx, base).await {
                Err(WorkspaceError::Tampered { changes }) if is_shared => {
                    Ok(Traces { tampered: changes, ..Traces::default() })
                }
                Err(error) if is_shared && is_left(&error) => {
                    let left = Some(format!("its work left git in an unfinished state: {error}"));
                    Ok(Traces { left, ..Traces::default() })
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
    async fn quits<C: Context>(&self, ctx: &Ctx<C>, base: &Base) -> Result<bool, NodeError> {
        let Some(since) = base.at.started else { return Ok(false) };
        let Some(what) = self.hold(ctx).await?.quit_left(since).await.map_err(failed)? else { return Ok(false) };
        let notice = format!("an unfinished {what} was ended without changing the files");
        note_pending(ctx, notice).await;
        Ok(true)
    }

    /// Takes a snapshot of the files after a person has decided: they may hold the person's changes, and traces of an agent
    /// after which git could not be run. `at` is the position of HEAD then, on top of commits of people.
    pub(in crate::nodes) async fn snapshot_after_decision<C: Context>(
        &self,
        ctx: &Ctx<C>,
        base: &Base,
    ) -> Result<Traces, NodeError> {
        let at = BranchPositions { others: BTreeMap::new(), ..base.at.clone() };
        let look = |_| async { self.settled_files(ctx, &base.at).await.map_err(failed) };
        ctx.effect("settle", &at, look).await
    }

    async fn settled_files<C: Context>(&self, ctx: &Ctx<C>, at: &BranchPositions) -> Result<Traces, WorkspaceError> {
        let workspace = self.hold_workspace(ctx).await?;
        workspace.ensure_ready().await?;
        let moved = workspace.foreign_move(at).await?;
        let at = match moved {
            Some(_) => at.clone(),
            None => BranchPositions { commit: workspace.own_head(at).await?.commit().cloned(), ..at.clone() },
        };
        let snapshot = workspace.snapshot().await?;
        let notices = snapshot.left_out.iter().map(OmittedFile::to_string).chain(pending_notices(ctx).await).collect();
        let left_out = vec![];
        Ok(Traces { tree: Some(snapshot.tree), notices, left_out, at: Some(at), moved, ..Traces::default() })
    }

    async fn effects_since<C: Context>(&self, ctx: &Ctx<C>, base: &Base) -> Result<Traces, WorkspaceError> {
        let workspace = self.hold_workspace(ctx).await?;
        let folded = self.fold(ctx, &workspace, &base.at).await?;
        if workspace.foreign_move(&base.at).await?.is_none() {
            workspace.own_head(&base.at).await?;
        }
        let (snapshot, at) = placed_files(&thread(ctx), &workspace, &base.at).await?;
        let mut all = snapshot.left_out;
        if let Some(since) = base.at.started {
            all.extend(workspace.unseen_files(since).await?);
            all.extend(self.unseen_commits(ctx, &workspace, &base.at).await?);
        }
        let left_out = OmittedFile::lines(&all);
        let notices = left_out.iter().cloned().chain(folded).chain(pending_notices(ctx).await).collect();
        Ok(Traces { tree: Some(snapshot.tree), notices, left_out, at, ..Traces::default() })
    }
}

/// Returns whether whoever worked in a work tree left it so that git cannot go on there.
fn is_left(error: &WorkspaceError) -> bool {
    matches!(
        error,
        WorkspaceError::Ongoing { .. } | WorkspaceError::Locked { .. } | WorkspaceError::HeadElsewhere { .. }
    )
}

/// The maximum length of a diff in a prompt, in bytes; a longer one is put into a file.
pub(crate) const DIFF_LIMIT: usize = 100_000;

/// The number of files that are named to a person.
const SHOWN: usize = 50;
/// The number of files that are named to an agent.
pub(in crate::nodes) const NAMED: usize = 500;

/// Lists the files that differ between two trees, a line each. Journalled as [`diff`] is.
pub(in crate::nodes) async fn list_changes<C: Context>(
    ctx: &Ctx<C>,
    key: &str,
    folder: &Folder,
    between: [&TreeId; 2],
) -> Result<String, NodeError> {
    ctx.effect(key, &between, |_| read_files(folder, between)).await
}

async fn read_files(folder: &Folder, [from, to]: [&TreeId; 2]) -> Result<String, NodeError> {
    let files = folder.open().await?.diff(from, to, 0).await.map_err(failed)?.files;
    Ok(lines(&files, SHOWN))
}

/// Formats the first `most` files, a line each.
pub(in crate::nodes) fn lines(files: &[FileDiff], most: usize) -> String {
    let mut lines: Vec<String> = files.iter().take(most).map(line).collect();
    if files.len() > most {
        lines.push(format!("and {} more", files.len() - most));
    }
    lines.join("\n")
}

fn line(file: &FileDiff) -> String {
    let FileDiff { path, from, status, binary, added, removed, .. } = file;
    let size = if *binary { "binary".to_owned() } else { format!("+{added} -{removed}") };
    let what = match (status, from) {
        (FileStatus::Added, _) => " (new)".to_owned(),
        (FileStatus::Deleted, _) => " (deleted)".to_owned(),
        (FileStatus::Renamed, Some(from)) => format!(" (was {from})"),
        (FileStatus::TypeChanged, _) => " (of another type)".to_owned(),
        (FileStatus::Modified | FileStatus::Renamed, _) => String::new(),
    };
    format!("{size} {path}{what}")
}

/// Takes a snapshot of the files.
pub(in crate::nodes) async fn tree_now<C: Context>(
    ctx: &Ctx<C>,
    key: &str,
    folder: &Folder,
) -> Result<TreeId, NodeError> {
    let look = |_| async { Ok::<_, NodeError>(folder.hold(ctx).await?.snapshot().await.map_err(failed)?.tree) };
    ctx.effect(key, &(), look).await
}

/// Returns the changes between two trees; long ones in a file named after both. Journalled, so that a replay needs no
/// repository.
pub(in crate::nodes) async fn diff<C: Context>(
    ctx: &Ctx<C>,
    key: &str,
    folder: &Folder,
    long: &Path,
    between: [&TreeId; 2],
) -> Result<PromptDiff, NodeError> {
    ctx.effect(key, &between, |_| read_diff(folder, long, between)).await
}

async fn read_diff(folder: &Folder, long: &Path, [from, to]: [&TreeId; 2]) -> Result<PromptDiff, NodeError> {
    let workspace = folder.open().await?;
    let diff = workspace.diff(from, to, DIFF_LIMIT).await.map_err(failed)?;
    if let Some(text) = diff.text {
        return Ok(PromptDiff::Text(text));
    }
    std::fs::create_dir_all(present_path(long))?;
    let file = long.join(format!("{from}-{to}.diff"));
    workspace.write_diff(from, to, &present_path(&file)).await.map_err(failed)?;
    Ok(PromptDiff::File { path: file.display().to_string(), files: lines(&diff.files, NAMED) })
}
