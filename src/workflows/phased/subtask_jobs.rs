//! The job of each node of a subtask, built from its state. Pure.

use super::work::SubtaskRun;
use crate::drivers::Access;
use crate::graph::NodeError;
use crate::nodes::{AgentSpec, Base, Check, DeveloperJob, Feedback, Folder, ReviewerJob, VerifyJob, WorktreeJob};
use crate::workflows::agent::{Circumstances, agent};
use crate::workflows::{RetrySession, Role};

type Job<T> = Result<T, NodeError>;

pub(super) fn set_up(run: &SubtaskRun) -> Job<WorktreeJob> {
    let subtask = &run.subtask;
    let settings = subtask.profile.phased.worktree.clone();
    // A resumed subtask already has its files and its base.
    let setup = if subtask.progress.is_some() { vec![] } else { settings.setup };
    let at = subtask.at.clone().ok_or_else(|| NodeError::permanent("a subtask without a commit to begin at"))?;
    Ok(WorktreeJob {
        repository: subtask.repository.clone(),
        path: subtask.worktree.clone(),
        at,
        furnishings: settings.furnishings,
        setup,
        limit: subtask.profile.verify_timeout,
        pass: subtask.profile.tools.pass.clone(),
        others: subtask.others.clone(),
        together: Some(subtask.lane.siblings.clone()),
    })
}

pub(super) fn developer(run: &SubtaskRun) -> Job<DeveloperJob> {
    let (subtask, progress, base) = (&run.subtask, &run.progress, base(run)?);
    let is_retry = progress.judged > 0;
    let how = subtask.profile.retry_session;
    let session = progress.session.clone().filter(|_| is_retry && how == RetrySession::Resume);
    let reset = is_retry && how == RetrySession::FreshReset;
    let tools = &subtask.profile.tools;
    Ok(DeveloperJob {
        agent: agent_of(run, Role::Developer),
        folder: folder(run)?,
        access: Access { write: true, shell: tools.shell() },
        brief: subtask.brief.clone(),
        attempt: subtask.turns + progress.attempts + 1,
        feedback: feedback(run),
        session,
        kept: None,
        taken_out: salvage(run),
        reset: reset.then(|| base.tree.clone()),
        base,
        long_diffs: run.home().join("diffs"),
        together: Some(subtask.lane.siblings.clone()),
        from: progress.from.clone(),
        ends_with_budget: false,
        transcript: None,
    })
}

/// Returns the references of earlier work, for the developer's prompt.
fn salvage(run: &SubtaskRun) -> Option<String> {
    let all = &run.subtask.salvage;
    (!all.is_empty() && run.progress.judged == 0).then(|| all.join("`, `"))
}

fn feedback(run: &SubtaskRun) -> Feedback {
    let (subtask, progress) = (&run.subtask, &run.progress);
    if progress.judged > 0 {
        let (comments, failures) = (progress.comments.clone(), progress.failures.clone());
        return Feedback { comments, failures, note: subtask.note.clone(), findings: vec![] };
    }
    let (comments, failures) = (subtask.comments.clone(), subtask.failures.clone());
    Feedback { comments, failures, note: subtask.note.clone(), findings: vec![] }
}

pub(super) fn verify(run: &SubtaskRun) -> Job<VerifyJob> {
    let (subtask, progress, base) = (&run.subtask, &run.progress, base(run)?);
    let is_empty = progress.tree.as_ref() == Some(&base.tree) && !subtask.changes_nothing;
    let commands = if is_empty { vec![] } else { subtask.brief.verify.clone() };
    Ok(VerifyJob {
        folder: folder(run)?,
        commands,
        limit: subtask.profile.verify_timeout,
        tree: progress.tree.clone(),
        base,
        pass: subtask.profile.tools.pass.clone(),
        together: Some(subtask.lane.siblings.clone()),
    })
}

pub(super) fn reviewer(run: &SubtaskRun) -> Job<ReviewerJob> {
    let (subtask, progress, base) = (&run.subtask, &run.progress, base(run)?.tree);
    Ok(ReviewerJob {
        agent: agent_of(run, Role::Reviewer),
        folder: folder(run)?,
        brief: subtask.brief.clone(),
        attempt: subtask.turns + progress.attempts,
        kinds: subtask.profile.review_types.clone(),
        tree: progress.tree.clone().unwrap_or_else(|| base.clone()),
        base,
        last_reviewed: progress.last_reviewed.clone(),
        checks: progress.checks.iter().map(Check::line).collect(),
        open: progress.comments.clone(),
        long_diffs: run.home().join("diffs"),
        together: Some(subtask.lane.siblings.clone()),
    })
}

fn agent_of(run: &SubtaskRun, role: Role) -> AgentSpec {
    let (home, models, subtask) = (run.home(), &run.progress.models, &run.subtask);
    let at = Circumstances { home: &home, models, spent: subtask.spent, budget: subtask.budget };
    agent(&subtask.profile, role, &at)
}

fn folder(run: &SubtaskRun) -> Job<Folder> {
    run.progress.folder.clone().ok_or_else(|| NodeError::permanent("the worktree of the subtask was not made"))
}

fn base(run: &SubtaskRun) -> Job<Base> {
    run.progress.base.clone().ok_or_else(|| NodeError::permanent("the worktree of the subtask is not ready"))
}
