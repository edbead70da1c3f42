//! The job of each node of a subtask, built from its state. Pure.

use crate::Role;
use crate::agent::{Circumstances, agent};
use crate::attempt::{AttemptJob, check_lines, worktree};
use crate::phases::SubtaskRun;
use superstep::graph::NodeError;
use superstep::nodes::__private::WorktreeJob;
use superstep::nodes::{AgentSpec, DeveloperJob, Feedback, ReviewerJob, VerifyJob};

type Job<T> = Result<T, NodeError>;

pub(super) fn set_up(run: &SubtaskRun) -> Job<WorktreeJob> {
    let subtask = &run.subtask;
    let at = subtask.at.clone().ok_or_else(|| NodeError::permanent("the subtask has no commit to start from"))?;
    let job = worktree(&subtask.profile, subtask.repository.clone(), subtask.worktree.clone(), at);
    let job = job.others(subtask.others.clone()).together(Some(subtask.lane.siblings.clone()));
    // A resumed subtask already has its files and its base.
    Ok(if subtask.progress.is_some() { job.setup(vec![]) } else { job })
}

/// Returns what the jobs of the current attempt have in common; `number` is its number.
fn attempt(run: &SubtaskRun, number: u32) -> Job<AttemptJob<'_>> {
    let SubtaskRun { subtask, progress, .. } = run;
    let unmade = || NodeError::permanent("the worktree of the subtask was not made");
    let unready = || NodeError::permanent("the worktree of the subtask is not ready");
    Ok(AttemptJob {
        profile: &subtask.profile,
        folder: progress.folder.clone().ok_or_else(unmade)?,
        brief: subtask.brief.clone(),
        number: subtask.turns + number,
        base: progress.base.clone().ok_or_else(unready)?,
        together: Some(subtask.lane.siblings.clone()),
    })
}

pub(super) fn developer(run: &SubtaskRun) -> Job<DeveloperJob> {
    let progress = &run.progress;
    let before = (progress.judged > 0, progress.session.clone());
    let job = attempt(run, progress.attempts + 1)?;
    let job = job.developer(agent_of(run, Role::Developer), feedback(run), before);
    Ok(job.taken_out(salvage(run)).from(progress.from.clone()))
}

/// Returns the references of earlier work, for the developer's prompt.
fn salvage(run: &SubtaskRun) -> Option<String> {
    let all = &run.subtask.salvage;
    (!all.is_empty() && run.progress.judged == 0).then(|| all.join("`, `"))
}

fn feedback(run: &SubtaskRun) -> Feedback {
    let (subtask, progress) = (&run.subtask, &run.progress);
    let (comments, failures) = match progress.judged {
        0 => (&subtask.comments, &subtask.failures),
        _ => (&progress.comments, &progress.failures),
    };
    Feedback { comments: comments.clone(), failures: failures.clone(), note: subtask.note.clone(), findings: vec![] }
}

pub(super) fn verify(run: &SubtaskRun) -> Job<VerifyJob> {
    let progress = &run.progress;
    Ok(attempt(run, progress.attempts)?.verify(progress.tree.as_ref(), run.subtask.changes_nothing))
}

pub(super) fn reviewer(run: &SubtaskRun) -> Job<ReviewerJob> {
    let progress = &run.progress;
    let (job, trees) = (attempt(run, progress.attempts)?, [progress.tree.as_ref(), progress.last_reviewed.as_ref()]);
    Ok(job.reviewer(agent_of(run, Role::Reviewer), trees, check_lines(&progress.checks), &progress.comments))
}

fn agent_of(run: &SubtaskRun, role: Role) -> AgentSpec {
    let (home, models, subtask) = (run.home(), &run.progress.models, &run.subtask);
    let at = Circumstances { home: &home, models, spent: subtask.spent, budget: subtask.budget };
    agent(&subtask.profile, role, &at)
}
