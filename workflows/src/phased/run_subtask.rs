//! The worker of one subtask: waits for a free place among its siblings, runs the subtask's graph, records the end. The
//! graph has a worktree, a developer, checks, and a separate review if the profile sets one.

use std::sync::Arc;

use super::{subtask_done, subtask_jobs};
use crate::AttemptOutcome;
use crate::phases::{
    ENDED, Omission, PhaseChange, PhaseStatus, Progress, Subtask, SubtaskFailure, SubtaskRun, SubtaskState,
    SubtaskWork, WorkChange,
};
use crate::task_based::{ExecutionState, ExecutionStateUpdate as Update};
use superstep::graph::{CompileError, CompiledGraph, Ctx, END, NodeError, NodeId, Route, START, StateGraph};
use superstep::nodes::__private::{EndSubtask, EndedSubtask, KeptPart, restore_worktree};
use superstep::nodes::{Agents, developer, node, reviewer, verify};
use superstep::workspace::CommitId;

/// The nodes of a subtask's graph.
#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub enum SubtaskStep {
    /// Prepares its worktree.
    SetUp,
    /// Lets a developer work on it.
    Developer,
    /// Runs its commands.
    Verify,
    /// Lets a reviewer review it.
    Reviewer,
}

/// The next step of a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Route)]
enum Next {
    #[to(SubtaskStep::Developer)]
    Work,
    #[to(SubtaskStep::Verify)]
    Verify,
    #[to(SubtaskStep::Reviewer)]
    Review,
    #[to(END)]
    End,
}

/// The graph of one subtask: its worktree, a developer, checks, and a separate review if the profile sets one. A node
/// runs it with [`Ctx::call`].
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
pub fn run_subtask<C: Agents>() -> Result<CompiledGraph<SubtaskRun, SubtaskStep, C>, CompileError> {
    StateGraph::new()
        .add_node(SubtaskStep::SetUp, node(subtask_jobs::set_up, subtask_done::set_up).replayable())
        .add_node(SubtaskStep::Developer, developer(subtask_jobs::developer, subtask_done::developer).replayable())
        .add_node(SubtaskStep::Verify, verify(subtask_jobs::verify, subtask_done::verify).replayable())
        .add_node(SubtaskStep::Reviewer, reviewer(subtask_jobs::reviewer, subtask_done::reviewer).replayable())
        .add_edge(START, SubtaskStep::SetUp)
        .add_conditional_edges(SubtaskStep::SetUp, next)
        .add_conditional_edges(SubtaskStep::Developer, worked)
        .add_conditional_edges(SubtaskStep::Verify, next)
        .add_conditional_edges(SubtaskStep::Reviewer, next)
        .compile()
        .map(|graph| graph.named("subtask").recursion_limit(u64::MAX)) // the profile limits the attempts
}

fn next(run: &SubtaskRun) -> Next {
    match run.progress.standing {
        AttemptOutcome::Unjudged => Next::Work,
        AttemptOutcome::Verified => Next::Review,
        _ => Next::End,
    }
}

fn worked(run: &SubtaskRun) -> Next {
    if run.progress.standing == AttemptOutcome::Unjudged { Next::Verify } else { Next::End }
}

/// Runs a subtask. Its failure is a result and does not fail the node.
pub(super) async fn run<C: Agents>(
    subtask: Arc<Subtask>,
    graph: CompiledGraph<SubtaskRun, SubtaskStep, C>,
    ctx: Ctx<C>,
) -> Result<Update, NodeError> {
    let lane = &subtask.lane;
    let place = lane.enter(&ctx).await?;
    let before = lane.stop_reason(&ctx).await?;
    let (started, run) = match before {
        Some(why) => (None, SubtaskRun { progress: cancelled(&subtask, why), ..SubtaskRun::default() }),
        None => {
            let started = lane.begin(&ctx).await?;
            let own = with_start_time(&subtask, &started);
            let input = SubtaskRun { subtask: own.clone(), ..SubtaskRun::default() };
            restore_worktree(&subtask_jobs::set_up(&input)?, &ctx).await?;
            let run = ctx.call(&graph, SubtaskRun::update().subtask(own)).await?;
            (Some(started), Arc::unwrap_or_clone(run))
        }
    };
    let ended = lane.end(&end(&subtask, &run.progress), &ctx).await?;
    drop(place);
    Ok(update(&subtask, run, started, ended))
}

/// Returns the subtask with its start time.
fn with_start_time(subtask: &Subtask, at: &str) -> Subtask {
    let is_resumed = subtask.progress.is_some();
    let started_at = subtask.line.started_at.clone().filter(|_| is_resumed).or_else(|| Some(at.to_owned()));
    Subtask { line: SubtaskState { started_at, ..subtask.line.clone() }, ..subtask.clone() }
}

/// Returns the progress of a subtask that was cancelled before it started; a paused one keeps its work.
fn cancelled(subtask: &Subtask, why: String) -> Progress {
    Progress { standing: AttemptOutcome::Cancelled(why), ..subtask.progress.clone().unwrap_or_default() }
}

/// Returns why a subtask ended without a result, and the kind of its failure.
fn failure(outcome: &AttemptOutcome) -> (Option<String>, Option<SubtaskFailure>) {
    let (error, failure) = match outcome {
        AttemptOutcome::Halted(why) => (why.clone(), SubtaskFailure::Failed),
        AttemptOutcome::Tampered(why) => (why.clone(), SubtaskFailure::Tampered),
        AttemptOutcome::Cancelled(why) => (why.clone(), SubtaskFailure::Cancelled),
        AttemptOutcome::Aborted => (ENDED.to_owned(), SubtaskFailure::Aborted),
        AttemptOutcome::Skipped => return (Some(Omission::Skipped.error()), None),
        AttemptOutcome::Approved | AttemptOutcome::Spent => return (None, None),
        AttemptOutcome::Unjudged | AttemptOutcome::Verified | AttemptOutcome::Failed => {
            ("it ended early".to_owned(), SubtaskFailure::Failed)
        }
    };
    (Some(error), Some(failure))
}

/// Returns the last commit that people made in the worktree while the subtask worked.
fn new_commits(subtask: &Subtask, progress: &Progress) -> Option<CommitId> {
    let commit = progress.base.as_ref()?.at.commit.clone()?;
    (subtask.at.as_ref() != Some(&commit)).then_some(commit)
}

fn end(subtask: &Subtask, progress: &Progress) -> EndSubtask {
    let Progress { base, tree, standing, .. } = progress;
    let from = base.as_ref().map(|base| base.tree.clone());
    let (error, _) = failure(standing);
    let aside = from.clone().filter(|_| error.is_some()).map(|tree| KeptPart {
        id: subtask.brief.id.clone(),
        phase: subtask.lane.place.phase_index + 1,
        attempt: subtask.lane.place.attempt,
        second: subtask.second,
        at: base.as_ref().and_then(|base| base.at.commit.clone()),
        tree,
    });
    let is_paused = *standing == AttemptOutcome::Spent;
    // After tampering or an early end, the files are read from the worktree.
    let is_known = matches!(standing, AttemptOutcome::Approved | AttemptOutcome::Spent);
    EndSubtask {
        repository: subtask.repository.clone(),
        worktree: progress.folder.clone(),
        is_paused,
        at: base.as_ref().map(|base| base.at.clone()),
        commits: new_commits(subtask, progress),
        unfolded: progress.unfolded.clone(),
        from,
        tree: tree.clone().filter(|_| is_known),
        aside,
        error,
        is_cancelled: matches!(standing, AttemptOutcome::Cancelled(_) | AttemptOutcome::Skipped),
    }
}

fn update(subtask: &Subtask, run: SubtaskRun, started: Option<String>, ended: EndedSubtask) -> Update {
    let SubtaskRun { progress, usage, used, mut notices, .. } = run;
    let omitted = (progress.standing == AttemptOutcome::Skipped).then_some(Omission::Skipped);
    notices.extend(omitted.as_ref().map(|omitted| format!("subtask {} is {}", subtask.brief.id, omitted.error())));
    let EndedSubtask { at, tree, files, salvage, notices: left } = ended;
    notices.extend(left);
    let (error, failure) = failure(&progress.standing);
    let is_paused = progress.standing == AttemptOutcome::Spent;
    let status = match (&error, is_paused) {
        (_, true) => PhaseStatus::Running,
        (Some(_), _) => PhaseStatus::Failed,
        (None, _) => PhaseStatus::Completed,
    };
    // A paused subtask that continues keeps its first start time.
    let line = SubtaskState {
        status,
        started_at: subtask.line.started_at.clone().filter(|_| subtask.progress.is_some()).or(started),
        completed_at: (!is_paused).then_some(at),
        error,
        omitted,
        commit: None,
        cost: subtask.line.cost.saturating_add(usage.cost),
        files,
        ..subtask.line.clone()
    };
    // What the integration needs: the worktree is gone by now, unless the subtask is paused.
    let work = SubtaskWork {
        from: progress.base.as_ref().map(|base| base.tree.clone()),
        tree,
        commits: new_commits(subtask, &progress).or_else(|| subtask.commits.clone()),
        at: progress.base.as_ref().and_then(|base| base.at.commit.clone()),
        salvage,
        second: subtask.second,
        failure,
        turns: subtask.turns + progress.attempts,
        paused: is_paused.then_some(progress),
        without_needs: subtask.without_needs,
        ..SubtaskWork::default()
    };
    ExecutionState::update()
        .phases(PhaseChange::Subtasks(vec![line]))
        .works(WorkChange::from([(subtask.brief.id.clone(), Some(work))]))
        .usage(usage)
        .used(used)
        .notices(notices)
}
