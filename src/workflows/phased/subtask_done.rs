//! The update of a subtask's state for each node's result. Pure.

use std::collections::BTreeMap;

use super::work::{Progress, SubtaskRun, SubtaskRunUpdate as Update, SubtaskStanding as Standing};
use crate::drivers::Usage;
use crate::nodes::{
    Base, Check, Cut, Developed, GivenUp, Reviewed, Unready, Verdict, Verified, Worktree, tampering_message,
};
use crate::workflows::Role;
use crate::workflows::task_based::done::{changed_nothing, no_changes};
use crate::workflows::task_based::open_comments;
use crate::workspace::TreeId;

/// The number of consecutive attempts without changes that fails a subtask.
const EMPTY: u32 = 2;

pub(super) fn set_up(run: &SubtaskRun, made: Worktree) -> Update {
    let Worktree { folder, base, problem, notices } = made;
    let before = run.subtask.progress.clone().unwrap_or_default();
    let standing = match problem {
        Some(Unready::Stopped(why)) => Standing::Cancelled(why),
        Some(Unready::Tampered(why)) => Standing::Tampered(why),
        Some(Unready::Failed(why)) => Standing::Failed(why),
        None if run.subtask.progress.is_some() && before.from.is_none() => Standing::Verified, // its review was cut short
        None => Standing::Working,
    };
    let base = before.base.clone().or(base);
    progress(Progress { folder: Some(folder), base, standing, ..before }).notices(notices)
}

pub(super) fn developer(run: &SubtaskRun, worked: Developed) -> Update {
    let Developed { report, session, usage, after, session_lost, model, given_up, cut, base, unfolded, .. } = worked;
    let (mut notices, left_out) = (after.notices, after.left_out);
    let id = &run.subtask.brief.id;
    if session_lost {
        notices.push(format!("subtask {id}: the session was lost; a new one began"));
    }
    if let (Err(why), None) = (report, &cut) {
        notices.push(format!("subtask {id}: the developer handed over no report: {why}"));
    }
    let spent = matches!(cut, Some(Cut::Spent(_)));
    let standing = match (after.tampered.as_slice(), given_up, &cut) {
        (_, _, Some(Cut::Stopped(why))) => Standing::Cancelled(why.clone()),
        ([], None, None) => Standing::Working,
        ([], Some(GivenUp::Skip), _) => Standing::Skipped,
        ([], Some(GivenUp::Abort), _) => Standing::Aborted,
        ([], None, Some(Cut::Failed(why))) => Standing::Failed(why.clone()),
        ([], None, Some(Cut::Spent(_))) => Standing::Spent,
        (changed, _, _) => Standing::Tampered(tampering_message("the agent", changed)),
    };
    let before = run.progress.clone();
    let models = chosen(&before, Role::Developer, model);
    let from = match cut {
        Some(Cut::Spent(from)) => Some(from),
        _ => None,
    };
    let attempts = before.attempts + u32::from(!spent);
    let tree = after.tree.or(before.tree.clone());
    let session = session.or_else(|| before.session.clone());
    let last_reviewed = reviewed_before(&before, base.as_ref());
    let base = base.or(before.base.clone());
    let next =
        Progress { session, attempts, tree, models, from, standing, base, unfolded, left_out, last_reviewed, ..before };
    spend(progress(next), Role::Developer, usage).notices(notices)
}

pub(super) fn verify(run: &SubtaskRun, verified: Verified) -> Update {
    let Verified { checks, tampered, tree, notices, base, unfolded, .. } = verified;
    let before = run.progress.clone();
    let tree = tree.or_else(|| before.tree.clone());
    let last_reviewed = reviewed_before(&before, base.as_ref());
    let base = base.or(before.base.clone());
    let is_empty = tree.as_ref() == base.as_ref().map(|base| &base.tree) && !run.subtask.changes_nothing;
    let empty = if is_empty { before.empty + 1 } else { 0 };
    let mut failures: Vec<String> = checks.iter().filter(|check| !check.passed()).map(Check::report).collect();
    if is_empty {
        failures.push(changed_nothing(&before.left_out));
    }
    let judged = before.judged + u32::from(!failures.is_empty());
    let stopped = checks.iter().find(|check| check.stopped).map(|check| check.output.clone());
    let standing = if let Some(why) = stopped {
        Standing::Cancelled(why)
    } else if !tampered.is_empty() {
        Standing::Tampered(tampering_message("a check", &tampered))
    } else if unfolded.is_some() {
        Standing::Failed(failures.first().cloned().unwrap_or_default()) // git cannot work in its worktree
    } else if failures.is_empty() && !run.subtask.profile.phased.subtask_review {
        Standing::Done
    } else if failures.is_empty() {
        Standing::Verified
    } else if empty >= EMPTY {
        Standing::Failed(no_changes(EMPTY, &before.left_out))
    } else if judged >= run.subtask.profile.max_task_review_iterations {
        Standing::Failed(used_up(judged, &failures))
    } else {
        Standing::Working
    };
    progress(Progress { checks, tree, empty, failures, judged, standing, base, unfolded, last_reviewed, ..before })
        .notices(notices)
}

/// Returns the files of the last review, unless people made commits meanwhile, which they are without.
fn reviewed_before(before: &Progress, new_base: Option<&Base>) -> Option<TreeId> {
    before.last_reviewed.clone().filter(|_| new_base.is_none())
}

pub(super) fn reviewer(run: &SubtaskRun, reviewed: Reviewed) -> Update {
    let Reviewed { verdict, usage, model, .. } = reviewed;
    let before = run.progress.clone();
    let models = chosen(&before, Role::Reviewer, model);
    let (last_reviewed, judged) = (before.tree.clone(), before.judged + 1);
    let most = run.subtask.profile.max_task_review_iterations;
    let next = Progress { models, ..before };
    let next = match verdict {
        Verdict::Accepted => Progress { standing: Standing::Done, comments: vec![], ..next },
        Verdict::Judged(review) if review.passes() => {
            Progress { standing: Standing::Done, comments: vec![], last_reviewed, judged, ..next }
        }
        Verdict::Judged(review) => {
            let comments = open_comments(&next.comments, &review);
            let found: Vec<String> = comments.iter().map(|comment| comment.issue.clone()).collect();
            let standing = if judged < most { Standing::Working } else { Standing::Failed(used_up(judged, &found)) };
            Progress { comments, failures: vec![], standing, last_reviewed, judged, ..next }
        }
        Verdict::Skipped => Progress { standing: Standing::Skipped, ..next },
        Verdict::Aborted => Progress { standing: Standing::Aborted, ..next },
        Verdict::Tampered(what) => {
            Progress { standing: Standing::Tampered(tampering_message("a reviewer", &what)), ..next }
        }
        Verdict::Cut(Cut::Failed(why)) => Progress { standing: Standing::Failed(why), ..next },
        Verdict::Cut(Cut::Stopped(why)) => Progress { standing: Standing::Cancelled(why), ..next },
        Verdict::Cut(Cut::Spent(_)) => Progress { standing: Standing::Spent, ..next },
    };
    spend(progress(next), Role::Reviewer, usage)
}

fn used_up(attempts: u32, failures: &[String]) -> String {
    let last = failures.first().map(|first| first.trim().lines().next().unwrap_or_default()).unwrap_or_default();
    let times = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
    format!("it was not accepted after {times}: {last}")
}

fn chosen(before: &Progress, role: Role, model: Option<String>) -> BTreeMap<Role, String> {
    let mut models = before.models.clone();
    models.extend(model.map(|model| (role, model)));
    models
}

fn progress(progress: Progress) -> Update {
    SubtaskRun::update().progress(progress)
}

fn spend(update: Update, role: Role, usage: Usage) -> Update {
    update.usage(usage).used(BTreeMap::from([(role, usage)]))
}
