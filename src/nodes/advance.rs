//! Moves of the run's branch to approved work; if somebody else moved it meanwhile, a person is asked, and the work is
//! put on top. Knows branches, must not know phases.

use serde::{Deserialize, Serialize};

use super::folder::{Folder, failed};
use super::phase_event::PhaseEvent;
use super::questions::{AfterMove, BranchMoved};
use crate::graph::{Ctx, NodeError};
use crate::workspace::{BranchMove, CommitId, Workspace, WorkspaceError};

/// A move of the run's branch to approved work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advance {
    /// The branch.
    pub branch: String,
    /// The commit that it is at.
    pub from: CommitId,
    /// The commit that it moves to.
    pub to: CommitId,
    /// The event that tells of it.
    pub event: Option<PhaseEvent>,
}

/// Result of an advance.
pub(super) enum Advanced {
    /// The branch is at this commit; none: there was no advance.
    To(Option<CommitId>),
    /// A person ended the run, because the branch was moved.
    Aborted,
}

/// Result of an advance after a person's answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    To(CommitId),
    Away(BranchMoved),
}

/// Moves the run's branch forward, and updates the files of the work tree.
pub(super) async fn advanced<C>(
    advance: Option<&Advance>,
    repository: &Folder,
    ctx: &Ctx<C>,
) -> Result<Advanced, NodeError>
where
    C: Send + Sync + 'static,
{
    let Some(advance) = advance else { return Ok(Advanced::To(None)) };
    let go = |_| async { advance.go(repository, ctx).await };
    let mut away: Option<BranchMoved> = ctx.effect("advance", advance, go).await?;
    for nth in 1.. {
        let Some(question) = away.take() else { break };
        match ctx.interrupt(question.clone())? {
            AfterMove::Abort => return Ok(Advanced::Aborted),
            AfterMove::Keep => {}
        }
        let keep = |_| async { advance.keep(&question, repository, ctx).await };
        match ctx.effect(format!("advance/{nth}"), &question, keep).await? {
            Kept::To(to) => return Ok(Advanced::To(Some(to))),
            Kept::Away(again) => away = Some(again),
        }
    }
    Ok(Advanced::To(Some(advance.to.clone())))
}

impl Advance {
    /// Advances, unless somebody else moved the branch; returns how.
    async fn go<C>(&self, repository: &Folder, ctx: &Ctx<C>) -> Result<Option<BranchMoved>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let workspace = repository.hold(ctx).await?;
        let now = workspace.branch_at(&self.branch).await.map_err(failed)?;
        if now.as_ref() != Some(&self.from) && now.as_ref() != Some(&self.to) {
            return Ok(Some(self.moved_to(now).into()));
        }
        // A person may have been elsewhere while the run waited.
        workspace.own_branch(&self.branch, Some(&self.from)).await.map_err(failed)?;
        self.advance(&workspace, &self.from, &self.to, ctx).await?;
        Ok(None)
    }

    /// Puts the work on top of the branch where it is now, unless it was moved again.
    async fn keep<C>(&self, question: &BranchMoved, repository: &Folder, ctx: &Ctx<C>) -> Result<Kept, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let workspace = repository.hold(ctx).await?;
        let onto = question.new.as_ref().unwrap_or(&self.from);
        let now = workspace.branch_at(&self.branch).await.map_err(failed)?;
        let asked = self.moved_to(question.new.clone());
        let rebased = workspace.rebased(&self.from, &self.to, onto).await;
        let to = match rebased {
            Err(WorkspaceError::Conflict { files }) => return Ok(Kept::Away(conflicting(asked, &files))),
            rebased => rebased.map_err(failed)?,
        };
        if now != question.new && now.as_ref() != Some(&to) && now.as_ref() != Some(onto) {
            return Ok(Kept::Away(self.moved_to(now).into()));
        }
        if now == question.new {
            match workspace.follow(&asked).await {
                Err(WorkspaceError::Conflict { files } | WorkspaceError::InTheWay { files }) => {
                    return Ok(Kept::Away(conflicting(asked, &files)));
                }
                followed => followed.map_err(failed)?,
            }
        }
        self.advance(&workspace, onto, &to, ctx).await?;
        Ok(Kept::To(to))
    }

    async fn advance<C>(
        &self,
        workspace: &Workspace,
        from: &CommitId,
        to: &CommitId,
        ctx: &Ctx<C>,
    ) -> Result<(), NodeError>
    where
        C: Send + Sync + 'static,
    {
        workspace.advance(&self.branch, from, to).await.map_err(failed)?;
        if let Some(event) = self.event.clone() {
            event.emit(ctx).await;
        }
        Ok(())
    }

    fn moved_to(&self, new: Option<CommitId>) -> BranchMove {
        BranchMove { branch: self.branch.clone(), old: Some(self.from.clone()), new }
    }
}

fn conflicting(moved: BranchMove, files: &[String]) -> BranchMoved {
    let files = files.join(", ");
    let problem = format!("its commits and the work of the run change the same lines of {files}");
    BranchMoved { problem: Some(problem), ..moved.into() }
}
