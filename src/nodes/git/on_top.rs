//! Positions on top of commits that people made, and files with their changes, to which a work tree can be reset. Knows git,
//! must not know why they are asked for.

use std::collections::BTreeMap;

use super::folder::{Folder, failed, thread};
use crate::graph::{Ctx, NodeError};
use crate::nodes::job::Context;
use crate::workspace::{
    BranchPositions, HeadMove, ResetResult, TreeId, Workspace, WorkspaceError, WorktreeSnapshot, reference_name,
};

/// Returns the position on top of the commits that people made since `at`; none if HEAD or its branch were moved in
/// another way, which is left to the next arrival.
pub(in crate::nodes) async fn on_top(
    thread: &str,
    workspace: &Workspace,
    at: &BranchPositions,
) -> Result<Option<BranchPositions>, WorkspaceError> {
    let is_on_top = matches!(workspace.movement(at).await?.head, HeadMove::None | HeadMove::Ahead { .. });
    if !is_on_top || workspace.foreign_move(at).await?.is_some() {
        return Ok(None);
    }
    let stood = present(workspace, at).await?;
    keep_detached(thread, workspace, at, &stood).await?;
    Ok(Some(stood))
}

/// Returns the position of HEAD and of the branches that are not the run's.
pub(super) async fn present(workspace: &Workspace, at: &BranchPositions) -> Result<BranchPositions, WorkspaceError> {
    let others: Vec<&str> = at.others.keys().map(String::as_str).collect();
    let now = workspace.branch_positions(&others).await?;
    Ok(BranchPositions { commit: now.commit, others: now.others, ..at.clone() })
}

/// Keeps commits that people made on a detached HEAD: no branch has them.
pub(in crate::nodes) async fn keep_detached(
    thread: &str,
    workspace: &Workspace,
    at: &BranchPositions,
    stood: &BranchPositions,
) -> Result<(), WorkspaceError> {
    let (None, Some(commit)) = (&at.branch, stood.commit.as_ref().filter(|_| stood.commit != at.commit)) else {
        return Ok(());
    };
    let reference = reference_name(thread, &["branches", &format!("HEAD-{}", commit.short())]);
    workspace.set_reference(&reference, None, commit).await
}

/// Resets the files to those of a position, with the commits that people made on top of it since.
pub(in crate::nodes) async fn reset_on_top(
    thread: &str,
    workspace: &Workspace,
    base: &BranchPositions,
    tree: &TreeId,
) -> Result<ResetResult, WorkspaceError> {
    let mut all: Option<ResetResult> = None;
    loop {
        let head = workspace.head().await?;
        let now = on_top(thread, workspace, base).await?.and_then(|at| at.commit);
        let files = match now.filter(|now| base.commit.as_ref() != Some(now)) {
            Some(now) => workspace.with_commits(tree, base.commit.as_ref(), &now).await?,
            None => tree.clone(),
        };
        let ResetResult { from, removed, written, .. } = workspace.reset_to(&files).await?;
        let all = all.get_or_insert_with(|| ResetResult { from, removed: vec![], written: vec![] });
        all.removed.extend(removed);
        all.written.extend(written);
        if workspace.head().await? == head {
            return Ok(all.clone()); // nobody has committed meanwhile
        }
    }
}

/// Takes a snapshot with the position that it belongs to, on top of commits that people made since `at`. The position is
/// none if HEAD or its branch were moved in another way.
pub(super) async fn placed_files(
    thread: &str,
    workspace: &Workspace,
    at: &BranchPositions,
) -> Result<(WorktreeSnapshot, Option<BranchPositions>), WorkspaceError> {
    loop {
        let before = workspace.head().await?;
        let now = on_top(thread, workspace, at).await?.map(without_turn);
        let snapshot = workspace.snapshot().await?;
        if workspace.head().await? == before {
            return Ok((snapshot, now)); // nobody has committed meanwhile
        }
    }
}

/// Returns the position without the start of its turn, as it is recorded after a turn or a command.
pub(super) fn without_turn(at: BranchPositions) -> BranchPositions {
    BranchPositions { all: BTreeMap::new(), started: None, ..at }
}

impl Folder {
    /// Resets the files to the reviewed ones, and returns those that differed. `base` is the position of both.
    pub(in crate::nodes) async fn undo<C: Context>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
        (base, tree): (&BranchPositions, &TreeId),
    ) -> Result<Vec<String>, NodeError> {
        let undo = |_| async {
            let workspace = self.hold(ctx).await?;
            let reset = reset_on_top(&thread(ctx), &workspace, base, tree).await.map_err(failed)?;
            Ok::<_, NodeError>([reset.removed, reset.written].concat())
        };
        ctx.effect(key, tree, undo).await
    }

    /// Resets the files to those of a position.
    pub(in crate::nodes) async fn reset<C: Context>(
        &self,
        ctx: &Ctx<C>,
        base: &BranchPositions,
        tree: &TreeId,
    ) -> Result<(), NodeError> {
        let reset = |_| async {
            let workspace = self.hold(ctx).await?;
            reset_on_top(&thread(ctx), &workspace, base, tree).await.map(drop).map_err(failed)
        };
        ctx.effect("reset", tree, reset).await
    }
}
