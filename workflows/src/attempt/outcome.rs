//! The outcome of an attempt: after the turns of its agent, after its checks, after its review. Pure.

use serde::{Deserialize, Serialize};
use superstep::nodes::__private::{GivenUp, tampering_message};
use superstep::nodes::{Check, CutReason, DevelopResult, ReviewVerdict, VerifyResult};
use superstep::plan::{Comment, Review};

/// The number of consecutive attempts without changes after which another one is useless.
const EMPTY: u32 = 2;

/// The outcome of the last attempt at a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It was not judged yet.
    #[default]
    Unjudged,
    /// Its checks passed: it goes to review.
    Verified,
    /// It was not accepted.
    Failed,
    /// It was accepted.
    Approved,
    /// Another attempt is useless.
    Halted(String),
    /// An agent or a check changed files that git executes: nothing runs before a person has looked at them.
    Tampered(String),
    /// It was cancelled with the subtasks beside it.
    Cancelled(String),
    /// The budget of the run is exhausted.
    Spent,
    /// A person skipped the task.
    Skipped,
    /// A person ended the run.
    Aborted,
}

/// The names of the outcomes in the stored progress of a subtask.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AttemptOutcome", rename_all = "snake_case")]
pub(crate) enum SubtaskWords {
    #[serde(rename = "working", alias = "unjudged")]
    Unjudged,
    Verified,
    #[serde(rename = "rejected")]
    Failed,
    #[serde(rename = "done")]
    Approved,
    #[serde(rename = "failed")]
    Halted(String),
    Tampered(String),
    Cancelled(String),
    Spent,
    Skipped,
    Aborted,
}

impl AttemptOutcome {
    /// Returns the outcome after the turns of an agent.
    pub(crate) fn after_work(worked: &DevelopResult) -> Self {
        match (worked.after.tampered.as_slice(), worked.given_up, &worked.cut) {
            (_, _, Some(CutReason::Stopped(why))) => Self::Cancelled(why.clone()),
            ([], None, None) => Self::Unjudged,
            ([], Some(GivenUp::Skip), _) => Self::Skipped,
            ([], Some(GivenUp::Abort), _) => Self::Aborted,
            ([], None, Some(CutReason::Failed(why))) => Self::Halted(why.clone()),
            ([], None, Some(CutReason::Spent(_))) => Self::Spent,
            (changed, _, _) => Self::Tampered(tampering_message("the agent", changed)),
        }
    }

    /// Returns the outcome after checks with these failures; `empty` is the number of consecutive attempts without changes.
    pub(crate) fn after_checks(verified: &VerifyResult, failures: &[String], empty: u32, left_out: &[String]) -> Self {
        if let Some(stopped) = verified.checks.iter().find(|check| check.stopped) {
            Self::Cancelled(stopped.output.clone())
        } else if verified.is_aborted {
            Self::Aborted
        } else if !verified.tampered.is_empty() {
            Self::Tampered(tampering_message("a check", &verified.tampered))
        } else if verified.unfolded.is_some() {
            Self::Halted(failures.first().cloned().unwrap_or_default()) // git cannot work there
        } else if empty >= EMPTY {
            Self::Halted(no_changes(EMPTY, left_out))
        } else if failures.is_empty() {
            Self::Verified
        } else {
            Self::Failed
        }
    }

    /// Returns the outcome after a review.
    pub(crate) fn after_review(verdict: &ReviewVerdict) -> Self {
        match verdict {
            ReviewVerdict::Judged(review) if !review.passes() => Self::Failed,
            ReviewVerdict::Judged(_) | ReviewVerdict::Accepted => Self::Approved,
            ReviewVerdict::Skipped => Self::Skipped,
            ReviewVerdict::Aborted => Self::Aborted,
            ReviewVerdict::Tampered(what) => Self::Tampered(tampering_message("a reviewer", what)),
            ReviewVerdict::Cut(CutReason::Failed(why)) => Self::Halted(why.clone()),
            ReviewVerdict::Cut(CutReason::Stopped(why)) => Self::Cancelled(why.clone()),
            ReviewVerdict::Cut(CutReason::Spent(_)) => Self::Spent,
        }
    }

    /// Returns whether another attempt is useless.
    pub fn is_stuck(&self) -> bool {
        !matches!(self, Self::Unjudged | Self::Verified | Self::Failed | Self::Approved)
    }
}

/// Returns the failures that checks report, and a missing change.
pub(super) fn failures(checks: &[Check], is_empty: bool, left_out: &[String]) -> Vec<String> {
    let failed = checks.iter().filter(|check| !check.has_passed()).map(Check::report);
    failed.chain(is_empty.then(|| changed_nothing(left_out))).collect()
}

/// Returns the problem of an attempt without changes that could be committed.
fn changed_nothing(left_out: &[String]) -> String {
    match left_out {
        [] => "The attempt changed no file.".to_owned(),
        _ => format!("The attempt changed no file that can be committed: {}.", left_out.join("; ")),
    }
}

/// Returns the reason why a task is halted after attempts without changes.
fn no_changes(attempts: u32, left_out: &[String]) -> String {
    match left_out {
        [] => format!("{attempts} attempts in a row changed no file"),
        _ => format!("{attempts} attempts in a row changed no file that can be committed: {}", left_out.join("; ")),
    }
}

/// Returns the notices about an agent's turns; `task` names the task, such as `subtask 2a`.
pub(crate) fn work_notices(task: &str, worked: &DevelopResult) -> Vec<String> {
    let mut notices = worked.after.notices.clone();
    notices.extend(worked.session_lost.then(|| format!("{task}: the session was lost; a new one was started")));
    if let (Err(why), None) = (&worked.report, &worked.cut) {
        notices.push(format!("{task}: the developer submitted no report: {why}"));
    }
    notices
}

/// Returns the open comments: earlier ones unless resolved, and new ones.
pub(crate) fn open_comments(before: &[Comment], review: &Review) -> Vec<Comment> {
    let is_settled = |comment: &&Comment| review.resolved_ids.contains(&comment.id);
    let is_repeated = |comment: &&Comment| review.comments.iter().any(|new| new.id == comment.id);
    let left = before.iter().filter(|comment| !is_settled(comment) && !is_repeated(comment)).cloned();
    let new = review.clone().with_comment_ids(before.iter().map(|comment| comment.id.as_str())).comments;
    left.chain(new).collect()
}
