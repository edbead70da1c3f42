//! The arrival of a node in the work tree of the run: HEAD is put on its branch, commits that people made meanwhile stay
//! beneath the work, and a person is asked about a branch that somebody else moved. Knows no agent.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::folder::{Base, Folder, failed, store, thread};
use super::on_top::{keep_detached, present};
use crate::graph::{Ctx, NodeError};
use crate::nodes::ask::{AfterMove, BranchMoved};
use crate::nodes::events::{note_once, pending_notices};
use crate::nodes::job::Context;
use crate::workspace::{
    BranchMove, BranchPositions, CommitId, FoldResult, OmittedFile, TreeId, Workspace, WorkspaceError,
};

/// Result of an arrival; none: a person ended the run, because its branch was moved.
type ArrivalResult = Option<Arrival>;

/// The position of the work when a node starts.
#[derive(Clone, Debug)]
pub(in crate::nodes) struct Arrival {
    /// The base of the task, on top of the commits of people.
    pub(in crate::nodes) base: Base,
    /// The same position, with those of all branches now.
    pub(in crate::nodes) turn: BranchPositions,
    /// The commits of people: from the former base to the new one.
    commits: Option<(Option<CommitId>, CommitId)>,
    /// Notices for people: branches that were moved.
    pub(in crate::nodes) notices: Vec<String>,
}

/// The recorded position of an arrival.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RecordedPosition {
    #[serde(flatten)]
    at: BranchPositions,
    /// Set if somebody else moved the branch of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved: Option<BranchMoved>,
    /// Notices for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
}

impl From<BranchPositions> for RecordedPosition {
    fn from(at: BranchPositions) -> Self {
        Self { at, moved: None, notices: vec![] }
    }
}

impl Arrival {
    /// Returns the base, if it has changed.
    pub(in crate::nodes) fn new_base(&self) -> Option<Base> {
        self.commits.is_some().then(|| self.base.clone())
    }

    /// Returns files from before the arrival with the changes of people's commits.
    pub(in crate::nodes) async fn carry<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        folder: &Folder,
        tree: &TreeId,
    ) -> Result<TreeId, NodeError> {
        let Some(commits) = &self.commits else { return Ok(tree.clone()) };
        folder.with_commits(ctx, key, tree, commits).await
    }
}

impl Folder {
    /// Arrives for the work on a task: puts HEAD on the branch of the work, or detaches it at its commit. Commits that
    /// people made since `base` are not part of the task from now on. If the branch was moved in another way, a person is
    /// asked [`BranchMoved`].
    pub(in crate::nodes) async fn arrive<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
    ) -> Result<ArrivalResult, NodeError> {
        let stood = ctx.effect(key, &base.at, |_| self.place_head(ctx, &base.at)).await?;
        self.ask_about_move(ctx, key, base, stood).await
    }

    /// Arrives without a question: a branch that was moved is left to the next node that can ask.
    pub(in crate::nodes) async fn arrive_without_asking<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
    ) -> Result<Arrival, NodeError> {
        let stood: RecordedPosition = ctx.effect(key, &base.at, |_| self.place_head(ctx, &base.at)).await?;
        self.apply_commits(ctx, key, base, stood).await
    }

    /// Arrives where the position was found by an effect of the node's own.
    pub(in crate::nodes) async fn arrive_at<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
        moved: Option<BranchMove>,
        at: BranchPositions,
    ) -> Result<ArrivalResult, NodeError> {
        self.ask_about_move(ctx, key, base, RecordedPosition { moved: moved.map(Into::into), ..at.into() }).await
    }

    async fn ask_about_move<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
        mut stood: RecordedPosition,
    ) -> Result<ArrivalResult, NodeError> {
        for nth in 1.. {
            let Some(question) = stood.moved.take() else { break };
            match ctx.interrupt(question.clone())? {
                AfterMove::Abort => return Ok(None),
                AfterMove::Keep => {}
            }
            let keep = |_| self.keep_moved(ctx, &base.at, &question);
            stood = ctx.effect(format!("{key}/moved/{nth}"), &question, keep).await?;
        }
        Ok(Some(self.apply_commits(ctx, key, base, stood).await?))
    }

    /// Puts the commits of people beneath the work.
    async fn apply_commits<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
        RecordedPosition { at, mut notices, .. }: RecordedPosition,
    ) -> Result<Arrival, NodeError> {
        notices.extend(moved_meanwhile(&base.at, &at));
        let new = at.commit.clone().filter(|commit| base.at.commit.as_ref() != Some(commit));
        let commits = new.map(|new| (base.at.commit.clone(), new));
        let tree = match &commits {
            Some(commits) => self.with_commits(ctx, &format!("{key}/commits"), &base.tree, commits).await?,
            None => base.tree.clone(),
        };
        let position = BranchPositions { commit: at.commit.clone(), ..base.at.clone() };
        Ok(Arrival { base: Base { at: position, tree }, turn: at, commits, notices })
    }

    /// Puts the commits that people made since an arrival beneath the work; `at` is the position after the agent or the
    /// command, if its branch was not moved in another way.
    pub(in crate::nodes) async fn settle<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        arrival: &Arrival,
        at: Option<BranchPositions>,
    ) -> Result<Arrival, NodeError> {
        let Some(at) = at else {
            return Ok(Arrival { commits: None, notices: vec![], ..arrival.clone() });
        };
        let mut settled = self.apply_commits(ctx, key, &arrival.base, at.into()).await?;
        settled.notices.retain(|notice| !arrival.notices.contains(notice));
        settled.turn = BranchPositions { commit: settled.turn.commit, ..arrival.turn.clone() };
        Ok(settled)
    }

    /// Returns files with the commits from one to another.
    pub(in crate::nodes) async fn with_commits<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        tree: &TreeId,
        (from, to): &(Option<CommitId>, CommitId),
    ) -> Result<TreeId, NodeError> {
        let carry = |_| async {
            let workspace = self.open_for(ctx).await.map_err(failed)?;
            workspace.with_commits(tree, from.as_ref(), to).await.map_err(failed)
        };
        ctx.effect(key, &(tree, from, to), carry).await
    }

    /// Puts HEAD where the work continues, unless somebody else moved the branch.
    async fn place_head<C: Context>(&self, ctx: &Ctx<C>, at: &BranchPositions) -> Result<RecordedPosition, NodeError> {
        let workspace = self.hold(ctx).await?;
        if let Some(moved) = workspace.foreign_move(at).await.map_err(failed)? {
            return Ok(RecordedPosition { moved: Some(moved.into()), ..at.clone().into() });
        }
        workspace.own_head(at).await.map_err(failed)?;
        let stood = position(&workspace, at).await.map_err(failed)?;
        keep_detached(&thread(ctx), &workspace, at, &stood).await.map_err(failed)?;
        if at.branch.is_none() && stood.commit != at.commit {
            store(self, None, ctx).await?;
        }
        for notice in moved_meanwhile(at, &stood) {
            note_once(ctx, notice).await;
        }
        Ok(RecordedPosition { notices: pending_notices(ctx).await, ..stood.into() })
    }

    /// Continues on top of a branch that was moved, if it has not been moved again.
    async fn keep_moved<C: Context>(
        &self,
        ctx: &Ctx<C>,
        at: &BranchPositions,
        question: &BranchMoved,
    ) -> Result<RecordedPosition, NodeError> {
        let workspace = self.hold(ctx).await?;
        let Some(moved) = workspace.foreign_move(at).await.map_err(failed)? else {
            return self.place_head(ctx, at).await;
        };
        if moved.new != question.new {
            return Ok(RecordedPosition { moved: Some(moved.into()), ..at.clone().into() });
        }
        match workspace.follow(&moved).await {
            Ok(()) => {}
            Err(error @ (WorkspaceError::Conflict { .. } | WorkspaceError::InTheWay { .. })) => {
                let problem = Some(format!("{error}; commit or undo your changes in these files, then answer again"));
                let moved = BranchMoved { problem, ..moved.into() };
                return Ok(RecordedPosition { moved: Some(moved), ..at.clone().into() });
            }
            Err(error) => return Err(failed(error)),
        }
        ctx.keep_event(&json!({ "note": format!("{moved}; the work continues there") })).await;
        Ok(position(&workspace, at).await.map_err(failed)?.into())
    }

    /// Returns the base on top of commits that people made since; `at` is their position. None: there are none.
    pub(in crate::nodes) async fn new_base<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        base: &Base,
        at: Option<BranchPositions>,
    ) -> Result<Option<Base>, NodeError> {
        match at {
            Some(at) => Ok(self.apply_commits(ctx, key, base, at.into()).await?.new_base()),
            None => Ok(None),
        }
    }

    /// Puts back what the agents of this task moved during their turns; returns notices about it, and about branches that
    /// others moved.
    pub(in crate::nodes) async fn fold<C: Context>(
        &self,
        ctx: &Ctx<C>,
        workspace: &Workspace,
        at: &BranchPositions,
    ) -> Result<Vec<String>, WorkspaceError> {
        let folded = workspace.fold(&with_turns(ctx, workspace, at).await?, Some(&thread(ctx))).await?;
        let notices = notices_of(&folded);
        for notice in &notices {
            note_once(ctx, notice.clone()).await;
        }
        Ok(notices)
    }

    /// Returns commits that the agents of this task made elsewhere during their turns, and left.
    pub(super) async fn unseen_commits<C: Context>(
        &self,
        ctx: &Ctx<C>,
        workspace: &Workspace,
        at: &BranchPositions,
    ) -> Result<Vec<OmittedFile>, WorkspaceError> {
        workspace.unseen_commits(&with_turns(ctx, workspace, at).await?).await
    }
}

/// Adds what was noted of the turns of this task.
async fn with_turns<C: Context>(
    ctx: &Ctx<C>,
    workspace: &Workspace,
    at: &BranchPositions,
) -> Result<BranchPositions, WorkspaceError> {
    let turns = workspace.turns(&thread(ctx), &ctx.task_id()).await?;
    Ok(BranchPositions { turns, ..at.clone() })
}

/// Returns the position of HEAD and of all branches.
async fn position(workspace: &Workspace, at: &BranchPositions) -> Result<BranchPositions, WorkspaceError> {
    workspace.with_all_branches(present(workspace, at).await?).await
}

/// Returns a notice for each branch that moved while no agent worked.
fn moved_meanwhile(before: &BranchPositions, now: &BranchPositions) -> Vec<String> {
    let moved = |(branch, old): (&String, &CommitId)| {
        let new = now.others.get(branch).cloned();
        let is_other = now.branch.as_ref() != Some(branch) && new.as_ref() != Some(old);
        is_other.then(|| left_notice(&BranchMove { branch: branch.clone(), old: Some(old.clone()), new }))
    };
    before.others.iter().filter_map(moved).collect()
}

fn left_notice(moved: &BranchMove) -> String {
    format!("{moved}, but not by this run, which does not move it back")
}

fn notices_of(folded: &FoldResult) -> Vec<String> {
    let kept = |kept: &Option<String>| {
        kept.as_ref().map(|kept| format!("; the commits are kept as `{kept}`")).unwrap_or_default()
    };
    let taken_back = folded.taken_back.iter().map(|commits| {
        format!("commits that were made during the work were taken back into the files{}", kept(commits))
    });
    let put_back = folded.put_back.iter().map(|back| {
        let commits = back.kept.as_ref().map(|kept| format!("; its commits are kept as `{kept}`")).unwrap_or_default();
        let put_back = if back.moved.old.is_some() { "restored" } else { "removed" };
        format!("{} during the work, and was {put_back}{commits}", back.moved)
    });
    taken_back.chain(put_back).chain(folded.left.iter().map(left_notice)).collect()
}
