//! The update of a subtask's state for each node's result. Pure.

use std::collections::BTreeMap;

use crate::Role;
use crate::attempt::{AttemptOutcome as Outcome, CheckedAttempt, chosen_models, open_comments, work_notices};
use crate::phases::{Progress, SubtaskRun, SubtaskRunUpdate as Update};
use crate::texts::counted;
use superstep::drivers::Usage;
use superstep::nodes::__private::{Worktree, WorktreeProblem};
use superstep::nodes::{Base, CutReason, DevelopResult, ReviewResult, ReviewVerdict, VerifyResult};
use superstep::workspace::TreeId;

pub(super) fn set_up(run: &SubtaskRun, made: Worktree) -> Update {
    let Worktree { folder, base, problem, notices } = made;
    let before = run.subtask.progress.clone().unwrap_or_default();
    let standing = match problem {
        Some(WorktreeProblem::Stopped(why)) => Outcome::Cancelled(why),
        Some(WorktreeProblem::Tampered(why)) => Outcome::Tampered(why),
        Some(WorktreeProblem::Failed(why)) => Outcome::Halted(why),
        None if run.subtask.progress.is_some() && before.from.is_none() => Outcome::Verified, // its review was cut short
        None => Outcome::Unjudged,
    };
    let base = before.base.clone().or(base);
    progress(Progress { folder: Some(folder), base, standing, ..before }).notices(notices)
}

pub(super) fn developer(run: &SubtaskRun, worked: DevelopResult) -> Update {
    let notices = work_notices(&format!("subtask {}", run.subtask.brief.id), &worked);
    let standing = Outcome::after_work(&worked);
    let DevelopResult { session, usage, after, model, cut, base, unfolded, .. } = worked;
    let before = run.progress.clone();
    let from = match cut {
        Some(CutReason::Spent(from)) => Some(from),
        Some(CutReason::Failed(_) | CutReason::Stopped(_)) | None => None,
    };
    let next = Progress {
        attempts: before.attempts + u32::from(from.is_none()),
        tree: after.tree.or(before.tree.clone()),
        session: session.or_else(|| before.session.clone()),
        models: chosen_models(&before.models, Role::Developer, model),
        last_reviewed: reviewed_before(&before, base.as_ref()),
        base: base.or(before.base.clone()),
        left_out: after.left_out,
        from,
        standing,
        unfolded,
        ..before
    };
    spend(progress(next), Role::Developer, usage).notices(notices)
}

pub(super) fn verify(run: &SubtaskRun, verified: VerifyResult) -> Update {
    let (before, profile) = (run.progress.clone(), &run.subtask.profile);
    let known = (before.tree.as_ref(), before.empty);
    let checked =
        CheckedAttempt::of(&verified, before.base.as_ref(), known, &before.left_out, run.subtask.changes_nothing);
    let CheckedAttempt { tree, empty, failures, outcome } = checked;
    let judged = before.judged + u32::from(!failures.is_empty());
    let standing = match outcome {
        Outcome::Verified if !profile.phased.subtask_review => Outcome::Approved,
        Outcome::Failed => next_attempt(run, judged, &failures),
        outcome => outcome,
    };
    let VerifyResult { checks, notices, base, unfolded, .. } = verified;
    let last_reviewed = reviewed_before(&before, base.as_ref());
    let base = base.or(before.base.clone());
    progress(Progress { checks, tree, empty, failures, judged, standing, base, unfolded, last_reviewed, ..before })
        .notices(notices)
}

/// Returns the outcome of an attempt that was not accepted: another one follows, unless that was the last.
fn next_attempt(run: &SubtaskRun, judged: u32, failures: &[String]) -> Outcome {
    if judged < run.subtask.profile.max_task_review_iterations {
        return Outcome::Unjudged;
    }
    let last = failures.first().and_then(|first| first.trim().lines().next()).unwrap_or_default();
    Outcome::Halted(format!("it was not accepted after {}: {last}", counted(judged, "attempt")))
}

/// Returns the files of the last review, unless people made commits meanwhile, which they are without.
fn reviewed_before(before: &Progress, new_base: Option<&Base>) -> Option<TreeId> {
    before.last_reviewed.clone().filter(|_| new_base.is_none())
}

pub(super) fn reviewer(run: &SubtaskRun, reviewed: ReviewResult) -> Update {
    let ReviewResult { verdict, usage, model, .. } = reviewed;
    let before = run.progress.clone();
    let standing = Outcome::after_review(&verdict);
    let mut next = Progress { models: chosen_models(&before.models, Role::Reviewer, model), standing, ..before };
    if let ReviewVerdict::Judged(review) = &verdict {
        (next.last_reviewed, next.judged) = (next.tree.clone(), next.judged + 1);
        if !review.passes() {
            next.comments = open_comments(&next.comments, review);
            let found: Vec<String> = next.comments.iter().map(|comment| comment.issue.clone()).collect();
            (next.standing, next.failures) = (next_attempt(run, next.judged, &found), vec![]);
        }
    }
    if next.standing == Outcome::Approved {
        next.comments = vec![];
    }
    spend(progress(next), Role::Reviewer, usage)
}

fn progress(progress: Progress) -> Update {
    SubtaskRun::update().progress(progress)
}

fn spend(update: Update, role: Role, usage: Usage) -> Update {
    update.usage(usage).used(BTreeMap::from([(role, usage)]))
}
