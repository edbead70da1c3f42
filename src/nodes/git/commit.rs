//! The commit of work on a task, and moves of the run's branch to approved work; if somebody else moved it meanwhile, a
//! person is asked. Knows commits and branches, must not know what follows.

use serde::{Deserialize, Serialize};

use super::folder::{Base, Folder, failed, lost_race, thread};
use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::ask::{AfterMove, BranchMoved};
use crate::nodes::events::{Activity, PhaseEvent};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, job, node};
use crate::workspace::{
    BranchMove, BranchPositions, CommitId, CommitKey, CommitRequest, MadeCommit, TreeId, Workspace, WorkspaceError,
};

/// The number of times that a commit is tried while people commit at the same moment.
const TRIES: u32 = 5;

job! {
    /// Work to commit.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct CommitJob {
        /// The repository and its folder.
        #[serde(skip)]
        folder: Folder,
        /// The base of the task.
        base: Base,
        /// The reviewed files; none: nothing is committed.
        tree: Option<TreeId>,
        /// The message, subject first.
        message: String,
        ..
        /// The task's number.
        task: String,
        /// The attempt, from 1.
        attempt: u32 = 1,
    }
}

/// Result of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommittedWork {
    /// The commit; none if there was nothing to commit.
    pub made: Option<CommitId>,
    /// The base of the next task.
    pub base: Base,
    /// Set if nothing was committed, because somebody else moved the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::nodes) moved: Option<BranchMove>,
    /// True if a person ended the run for that reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_aborted: bool,
}

/// Returns a node that commits exactly the reviewed files, once: `job` reads the work from the state, `done` creates
/// the update from the commit. The user's earlier changes are never committed, and commits that people made meanwhile
/// stay beneath it.
///
/// The node fails if a hook refuses the commit; run again, it commits again.
pub fn commit_task<S: State, N: NodeId, C: Context>(
    job: impl ReadJob<S, CommitJob>,
    done: impl MakeUpdate<S, CommittedWork>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Context> Job<C> for CommitJob {
    type Output = CommittedWork;

    async fn perform(self, ctx: &Ctx<C>) -> Result<CommittedWork, NodeError> {
        commit(&self, ctx).await
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

/// Commits, unless the commit exists. If the branch was moved, a person is asked first.
pub(in crate::nodes) async fn commit<C: Context>(job: &CommitJob, ctx: &Ctx<C>) -> Result<CommittedWork, NodeError> {
    let mut job = job.clone();
    let mut moved = commit_once(&job, "commit", ctx).await?;
    for nth in 1.. {
        let Some(away) = moved.moved.take() else { break };
        let key = format!("commit/{nth}");
        let at = job.base.at.clone();
        match job.folder.arrive_at(ctx, &key, &job.base, Some(away), at).await? {
            // The reviewed files are compared with those at the start of the task: neither has the new commits.
            Some(arrival) => job.base.at = arrival.base.at,
            None => return Ok(CommittedWork { is_aborted: true, ..moved }),
        }
        moved = commit_once(&job, &key, ctx).await?;
    }
    Ok(moved)
}

/// Commits work whose base gets the files of `start` with all commits that were made since.
pub(super) async fn commit_since<C: Context>(
    start: Option<&Base>,
    job: &CommitJob,
    ctx: &Ctx<C>,
) -> Result<CommittedWork, NodeError> {
    let Some((start, now)) = start.zip(job.base.at.commit.clone()) else { return commit(job, ctx).await };
    let mut job = job.clone();
    let commits = (start.at.commit.clone(), now);
    job.base.tree = job.folder.with_commits(ctx, "commit/base", &start.tree, &commits).await?;
    commit(&job, ctx).await
}

async fn commit_once<C: Context>(job: &CommitJob, key: &str, ctx: &Ctx<C>) -> Result<CommittedWork, NodeError> {
    let commit = CommitKey { thread: thread(ctx), task: job.task.clone(), phase: None, attempt: job.attempt };
    let probe = |_| async {
        let workspace = job.folder.hold(ctx).await?;
        match find_commit(&workspace, job, &commit).await? {
            Some(_) => make(job, &commit, ctx).await.map(Some),
            None => Ok::<_, NodeError>(None),
        }
    };
    ctx.effect(key, job, |_| make(job, &commit, ctx)).probe(probe).await
}

async fn find_commit(workspace: &Workspace, job: &CommitJob, key: &CommitKey) -> Result<Option<MadeCommit>, NodeError> {
    workspace.find_commit(key, job.base.at.commit.as_ref()).await.map_err(failed)
}

/// Creates the commit, or finishes one that was interrupted by a kill. A person may commit at the same moment: then it
/// comes after theirs.
async fn make<C: Context>(job: &CommitJob, key: &CommitKey, ctx: &Ctx<C>) -> Result<CommittedWork, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    for _ in 1..TRIES {
        let at = workspace.head().await.map_err(failed)?;
        match make_once(&workspace, job, key, ctx).await {
            Err(error) if lost_race(&error) && workspace.head().await.map_err(failed)? != at => {
                tracing::debug!(%error, "somebody else has committed at the same time");
            }
            made => return made,
        }
    }
    make_once(&workspace, job, key, ctx).await
}

async fn make_once<C: Context>(
    workspace: &Workspace,
    job: &CommitJob,
    key: &CommitKey,
    ctx: &Ctx<C>,
) -> Result<CommittedWork, NodeError> {
    let made = find_commit(workspace, job, key).await?;
    let at = match position(workspace, job, key, made.is_some()).await? {
        Ok(at) => at,
        Err(away) => {
            return Ok(CommittedWork { made: None, base: job.base.clone(), moved: Some(away), is_aborted: false });
        }
    };
    let Some(tree) = &job.tree else { return next_base(workspace, at, None).await };
    let tree = match made {
        Some(made) => made.tree,
        None => {
            let leaked = job.folder.leaked_keys(&job.base.tree, tree).await?;
            if !leaked.is_empty() {
                let message = format!("not committed: {}", leaked.join(", "));
                let help = "files that contain a key are never committed; fork from a checkpoint before they were accepted, and remove the \
                            key from the file";
                return Err(NodeError::permanent(format!("{message} (help: {help})")));
            }
            workspace.onto_head(&job.base.tree, tree).await.map_err(failed)?
        }
    };
    let (branch, parent, message, key) = (at.branch.clone(), at.commit.clone(), job.message.clone(), key.clone());
    let request = CommitRequest { branch, parent, tree, message, key };
    let (committed, output) = workspace.commit_with_output(&request).await.map_err(failed)?;
    let made = committed.commit().map(|made| made.commit.clone());
    if let Some(made) = &made {
        let (id, task) = (made.to_string(), job.task.as_str());
        Activity::Commit { id, message: &job.message, task, attempt: job.attempt, output }.emit(ctx).await;
    }
    next_base(workspace, at, made).await
}

/// Returns the position to commit at: that of the task, or after commits that people made meanwhile. Otherwise returns
/// how somebody else moved the branch.
async fn position(
    workspace: &Workspace,
    job: &CommitJob,
    key: &CommitKey,
    is_made: bool,
) -> Result<Result<BranchPositions, BranchMove>, NodeError> {
    let at = &job.base.at;
    if is_made || at.branch.is_none() {
        let started = workspace.started_commit(key).await.map_err(failed)?;
        return Ok(Ok(BranchPositions { commit: started.unwrap_or_else(|| at.commit.clone()), ..at.clone() }));
    }
    if let Some(away) = workspace.foreign_move(at).await.map_err(failed)? {
        return Ok(Err(away));
    }
    let head = workspace.own_head(at).await.map_err(failed)?;
    // A person may have committed since one was started: then it has not been made, and is made on top.
    let started = workspace.started_commit(key).await.map_err(failed)?;
    let commit = started.unwrap_or_else(|| head.commit().cloned());
    Ok(Ok(BranchPositions { commit, ..at.clone() }))
}

/// Returns the base of the next task: the commit, with the files as they are now.
async fn next_base(
    workspace: &Workspace,
    at: BranchPositions,
    made: Option<CommitId>,
) -> Result<CommittedWork, NodeError> {
    let tree = workspace.snapshot().await.map_err(failed)?.tree;
    let commit = made.clone().or(at.commit.clone());
    Ok(CommittedWork {
        made,
        base: Base { at: BranchPositions { commit, ..at }, tree },
        moved: None,
        is_aborted: false,
    })
}

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
pub(in crate::nodes) enum AdvanceResult {
    /// The branch is at this commit; none: there was no advance.
    To(Option<CommitId>),
    /// A person ended the run, because the branch was moved.
    Aborted,
}

/// Result of an advance after a person's answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptBranch {
    To(CommitId),
    Away(BranchMoved),
}

/// Moves the run's branch forward, and updates the files of the work tree.
pub(in crate::nodes) async fn advance_branch<C: Context>(
    advance: Option<&Advance>,
    repository: &Folder,
    ctx: &Ctx<C>,
) -> Result<AdvanceResult, NodeError> {
    let Some(advance) = advance else { return Ok(AdvanceResult::To(None)) };
    let go = |_| async { advance.try_advance(repository, ctx).await };
    let mut away: Option<BranchMoved> = ctx.effect("advance", advance, go).await?;
    for nth in 1.. {
        let Some(question) = away.take() else { break };
        match ctx.interrupt(question.clone())? {
            AfterMove::Abort => return Ok(AdvanceResult::Aborted),
            AfterMove::Keep => {}
        }
        let keep = |_| async { advance.keep(&question, repository, ctx).await };
        match ctx.effect(format!("advance/{nth}"), &question, keep).await? {
            KeptBranch::To(to) => return Ok(AdvanceResult::To(Some(to))),
            KeptBranch::Away(again) => away = Some(again),
        }
    }
    Ok(AdvanceResult::To(Some(advance.to.clone())))
}

impl Advance {
    /// Advances, unless somebody else moved the branch; returns how.
    async fn try_advance<C: Context>(
        &self,
        repository: &Folder,
        ctx: &Ctx<C>,
    ) -> Result<Option<BranchMoved>, NodeError> {
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
    async fn keep<C: Context>(
        &self,
        question: &BranchMoved,
        repository: &Folder,
        ctx: &Ctx<C>,
    ) -> Result<KeptBranch, NodeError> {
        let workspace = repository.hold(ctx).await?;
        let onto = question.new.as_ref().unwrap_or(&self.from);
        let now = workspace.branch_at(&self.branch).await.map_err(failed)?;
        let asked = self.moved_to(question.new.clone());
        let rebased = workspace.rebase(&self.from, &self.to, onto).await;
        let to = match rebased {
            Err(WorkspaceError::Conflict { files }) => return Ok(KeptBranch::Away(conflicting(asked, &files))),
            rebased => rebased.map_err(failed)?,
        };
        if now != question.new && now.as_ref() != Some(&to) && now.as_ref() != Some(onto) {
            return Ok(KeptBranch::Away(self.moved_to(now).into()));
        }
        if now == question.new {
            match workspace.follow(&asked).await {
                Err(WorkspaceError::Conflict { files } | WorkspaceError::InTheWay { files }) => {
                    return Ok(KeptBranch::Away(conflicting(asked, &files)));
                }
                followed => followed.map_err(failed)?,
            }
        }
        self.advance(&workspace, onto, &to, ctx).await?;
        Ok(KeptBranch::To(to))
    }

    async fn advance<C: Context>(
        &self,
        workspace: &Workspace,
        from: &CommitId,
        to: &CommitId,
        ctx: &Ctx<C>,
    ) -> Result<(), NodeError> {
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
