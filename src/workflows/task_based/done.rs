//! The state update for each node's result. Pure.

use std::collections::BTreeMap;

use super::state::{
    AgenticStatus, DeveloperSession, ExecutionState, ExecutionStateUpdate as Update, RunOutcome, Standing,
};
use super::tasks::{LastReview, Mark, TaskLine, Unfinished, lines, next_open};
use super::view::take_notes;
use crate::drivers::{NewLimits, Usage};
use crate::graph::overwrite;
use crate::graph::reducers::Change;
use crate::nodes::{
    Adopted, Approved, Architected, Base, Developed, Finalized, GivenUp, Moved, PlanFile, PlanReviewed, Prepared,
    Reviewed, Verdict, Verified, tampering_message,
};
use crate::plan::{Comment, Decision, Plan, Review};
use crate::workflows::phased::ended_phase;
use crate::workflows::{Profile, Role};

/// The number of consecutive attempts without changes that halts a task.
const EMPTY: u32 = 2;

pub(super) fn update() -> Update {
    ExecutionState::update()
}

pub(super) fn put(line: TaskLine) -> [Change<TaskLine>; 1] {
    [Change::Put(line)]
}

/// Adds the usage of a role, and limits that a person raised.
pub(crate) fn spend(update: Update, role: Role, usage: Usage, raised: NewLimits) -> Update {
    update.usage(usage).used(BTreeMap::from([(role, usage)])).raised(raised)
}

pub(crate) fn architect(state: &ExecutionState, written: Architected) -> Update {
    let update = update().architect_session(written.session);
    let update = spend(update, Role::Architect, written.usage, written.raised);
    if written.is_aborted {
        return update.plan_ended(true).agentic_status(AgenticStatus::Cancelled);
    }
    let update = update.agentic_status(AgenticStatus::Running);
    let update = update.models(state.models_with(Role::Architect, written.model));
    let (markdown, problems) = match written.markdown {
        Ok(markdown) => (Some(markdown), vec![]),
        Err(problems) => (None, problems),
    };
    let Some(proposal) = written.proposal else {
        // Keeps the plan and the requested changes, because the architect is asked again.
        let raw = state.raw_architect_output.clone().unwrap_or_default();
        return update.plan_problems(problems).raw_architect_output(Some(raw));
    };
    update
        .goal(Some(proposal.goal.clone()))
        .raw_architect_output(serde_json::to_string(&proposal).ok())
        .plan_markdown(markdown)
        .plan_path(None)
        .plan_hash(None)
        .plan_problems(problems)
        .plan_feedback(None)
}

pub(crate) fn plan_validator(state: &ExecutionState, found: PlanReviewed) -> Update {
    let mut problems = state.plan_problems.clone();
    if state.plan_markdown.is_some() || problems.is_empty() {
        problems.extend(found.problems);
    }
    let revisions = state.plan_revisions + u32::from(!problems.is_empty());
    update()
        .goal(found.goal.or_else(|| state.goal.clone()))
        .key_files(found.key_files)
        .total_tasks(found.total_tasks)
        .plan_revisions(revisions)
        .plan_problems(problems)
        .agentic_status(AgenticStatus::Waiting)
}

pub(super) fn count(tasks: &[TaskLine]) -> u32 {
    u32::try_from(tasks.len()).unwrap_or(u32::MAX)
}

pub(crate) fn approval(state: &ExecutionState, approved: Approved) -> Update {
    let Approved { decision, adopted } = approved;
    let (mut update, mut markdown) = (update(), state.plan_markdown.clone());
    let mut known = None;
    if let Some(PlanFile { path, hash, .. }) = state.draft() {
        update = update.plan_path(Some(path));
        known = Some(hash);
    }
    if let Some(Adopted { hash, plan }) = adopted {
        markdown = Some(plan);
        known = Some(hash);
    }
    if known.is_some() {
        update = update.plan_hash(known);
    }
    let only = match decision {
        Decision::Reject { feedback } => {
            return ended_phase(state, update)
                .plan_markdown(markdown)
                .plan_feedback(Some(feedback).filter(|feedback| !feedback.is_empty()))
                .human_approved(Some(false))
                .outcome(Some(if state.plan_ended { RunOutcome::Cancelled } else { RunOutcome::Rejected }))
                .plan_ended(false)
                .agentic_status(AgenticStatus::Cancelled);
        }
        Decision::Revise { feedback } => {
            return update
                .plan_markdown(markdown)
                .human_approved(Some(false))
                .plan_feedback(Some(feedback))
                .plan_problems(vec![])
                .plan_revisions(0);
        }
        Decision::EditPlan { markdown: edited } => {
            markdown = Some(edited);
            None
        }
        Decision::Approve { tasks } => tasks,
    };
    let plan = markdown.as_deref().and_then(|markdown| Plan::parse(markdown).ok());
    let tasks = plan.as_ref().map(|plan| lines(plan, only.as_deref())).unwrap_or_default();
    let first = next_open(&tasks, 0).unwrap_or(0);
    let goal = plan.as_ref().and_then(Plan::goal).map(str::to_owned).or_else(|| state.goal.clone());
    let limit = attempts(&state.profile, plan.as_ref());
    update
        .plan_markdown(markdown)
        .goal(goal)
        .total_tasks(Some(count(&tasks)))
        .tasks(overwrite(tasks))
        .current_task_index(u32::try_from(first).unwrap_or(u32::MAX))
        .plan_problems(vec![])
        .plan_feedback(None)
        .human_approved(Some(true))
        .max_task_review_iterations(limit)
        .attempts_allowed(limit)
}

/// Returns the maximum number of attempts at a task.
fn attempts(profile: &Profile, plan: Option<&Plan>) -> u32 {
    let whole = plan.filter(|plan| !plan.has_task_headings()).and(profile.max_review_iterations);
    whole.unwrap_or(profile.max_task_review_iterations)
}

pub(crate) fn prepare(state: &ExecutionState, prepared: Prepared) -> Update {
    let Prepared { base, start, notices, before } = prepared;
    let update = match (state.plan_in_repo(), &state.plan_markdown) {
        (Some(path), Some(plan)) => {
            update().plan_path(Some(state.working_dir.join(path))).plan_hash(Some(crate::plan::hash(plan)))
        }
        _ => update(),
    };
    let reason = state.blocked(&state.tasks, state.index());
    let update = if before.is_some() { update.came_from(before) } else { update };
    let update = update
        .tasks(started(state, state.index(), reason.is_some()))
        .start(Some(start))
        .task_base(Some(base))
        .notices(notices);
    waiting_or_running(update, reason)
}

/// Marks a task as started, or as halted because it is `blocked`.
fn started(state: &ExecutionState, index: usize, blocked: bool) -> Vec<Change<TaskLine>> {
    let mark = if blocked { Mark::Halted } else { Mark::Running };
    let open = state.tasks.get(index).filter(|line| !line.mark.is_closed());
    open.map(|line| Change::Put(TaskLine { mark, ..line.clone() })).into_iter().collect()
}

/// Waits for a person if there is a reason not to start the task; otherwise starts it.
fn waiting_or_running(update: Update, reason: Option<String>) -> Update {
    match reason {
        Some(reason) => update
            .standing(Standing::Halted(reason))
            .outcome(Some(RunOutcome::Halted))
            .agentic_status(AgenticStatus::Waiting),
        None => update.standing(Standing::Unjudged).outcome(None).agentic_status(AgenticStatus::Running),
    }
}

/// Sets the base of the task, if it changed: people made commits meanwhile. The files of the last review are without them,
/// so that the next one is not shown what changed since.
pub(super) fn rebased(update: Update, base: Option<Base>) -> Update {
    if base.is_some() { update.task_base(base).last_reviewed_tree(None) } else { update }
}

pub(super) fn developer(state: &ExecutionState, worked: Developed) -> Update {
    let Developed { report, session, usage, after, salvaged, session_lost, model, given_up, raised, base, .. } = worked;
    let line = TaskLine { attempts: state.line().attempts + 1, mark: Mark::Running, ..state.line() };
    let mut notices = after.notices;
    if session_lost {
        notices.push(format!("task {}: the session was lost; a new one began", line.id));
    }
    if let Err(why) = report {
        notices.push(format!("task {}: the developer handed over no report: {why}", line.id));
    }
    let standing = match (after.tampered.as_slice(), given_up) {
        ([], None) => Standing::Unjudged,
        ([], Some(GivenUp::Skip)) => Standing::Skipped,
        ([], Some(GivenUp::Abort)) => Standing::Aborted,
        (changed, _) => Standing::Tampered(tampering_message("the agent", changed)),
    };
    let update = rebased(update(), base);
    let update = if after.left_out == state.left_out { update } else { update.left_out(after.left_out) };
    spend(update, Role::Developer, usage, raised)
        .driver_session_id(session.as_ref().map(|session| session.id.clone()))
        .developer_session(session.map(|session| DeveloperSession { task_index: state.current_task_index, session }))
        .task_tree(after.tree.or_else(|| state.task_tree.clone()))
        .tasks(put(line.costing(Role::Developer, usage)))
        .salvage(salvaged.or_else(|| state.salvage.clone()))
        .taken_out(None)
        .models(state.models_with(Role::Developer, model))
        .note(String::new())
        .standing(standing)
        .notices(state.new_notices(notices))
}

pub(super) fn verify(state: &ExecutionState, verified: Verified) -> Update {
    let Verified { checks, tampered, tree, notices, base, is_aborted, .. } = verified;
    let tree = tree.or_else(|| state.task_tree.clone());
    let is_empty = tree.as_ref() == base.as_ref().or(state.task_base.as_ref()).map(|base| &base.tree);
    let is_empty = is_empty && !super::jobs::changes_nothing(state).unwrap_or(false);
    let empty_attempts = if is_empty { state.empty_attempts + 1 } else { 0 };
    let failed = checks.iter().filter(|check| !check.passed()).map(crate::nodes::Check::report);
    let mut failures: Vec<String> = failed.collect();
    if is_empty {
        failures.push(changed_nothing(&state.left_out));
    }
    let standing = match &state.standing {
        stuck if state.is_stuck() => stuck.clone(),
        _ if is_aborted => Standing::Aborted,
        _ if !tampered.is_empty() => Standing::Tampered(tampering_message("a check", &tampered)),
        _ if empty_attempts >= EMPTY => Standing::Halted(no_changes(EMPTY, &state.left_out)),
        _ if failures.is_empty() => Standing::Verified,
        _ => Standing::Failed,
    };
    let judged = u32::from(!failures.is_empty());
    let update = rebased(update(), base)
        .task_tree(tree)
        .checks(checks)
        .failures(failures)
        .empty_attempts(empty_attempts)
        .task_review_iteration(state.task_review_iteration + judged)
        .standing(standing.clone())
        .notices(state.new_notices(notices));
    let left = state.task_review_iteration + judged < state.attempts_allowed;
    if standing == Standing::Verified || (standing == Standing::Failed && left) {
        update
    } else {
        halted(update, state.line())
    }
}

/// Returns the problem of an attempt without changes that could be committed.
pub(crate) fn changed_nothing(left_out: &[String]) -> String {
    match left_out {
        [] => "The attempt changed no file.".to_owned(),
        _ => format!("The attempt changed no file that can be committed: {}.", left_out.join("; ")),
    }
}

/// Returns the reason why a task is halted after attempts without changes.
pub(crate) fn no_changes(attempts: u32, left_out: &[String]) -> String {
    match left_out {
        [] => format!("{attempts} attempts in a row changed no file"),
        _ => format!("{attempts} attempts in a row changed no file that can be committed: {}", left_out.join("; ")),
    }
}

/// Halts the task until a person decides.
fn halted(update: Update, line: TaskLine) -> Update {
    update
        .tasks(put(TaskLine { mark: Mark::Halted, ..line }))
        .outcome(Some(RunOutcome::Halted))
        .agentic_status(AgenticStatus::Waiting)
}

pub(super) fn reviewer(state: &ExecutionState, reviewed: Reviewed) -> Update {
    let Reviewed { verdict, usage, model, raised } = reviewed;
    let line = TaskLine { reviews: state.line().reviews + 1, ..state.line() }.costing(Role::Reviewer, usage);
    let iteration = state.task_review_iteration + 1;
    let update = spend(update(), Role::Reviewer, usage, raised)
        .review_iteration(state.review_iteration + 1)
        .task_review_iteration(iteration)
        .last_reviewed_tree(state.task_tree.clone())
        .models(state.models_with(Role::Reviewer, model));
    let review = match verdict {
        Verdict::Judged(review) => review,
        Verdict::Accepted => return update.standing(Standing::Approved).open_comments(vec![]).tasks(put(line)),
        Verdict::Aborted | Verdict::Cut(_) => return halted(update.standing(Standing::Aborted), line),
        Verdict::Skipped => return halted(update.standing(Standing::Skipped), line),
        Verdict::Tampered(what) => {
            return halted(update.standing(Standing::Tampered(tampering_message("a reviewer", &what))), line);
        }
    };
    let passed = review.passes();
    let open = open(&state.open_comments, &review);
    let last = LastReview { approved: passed, comments: review.comments.clone(), severity: review.gravest() };
    let update = update.last_review(Some(last)).open_comments(if passed { vec![] } else { open }).standing(if passed {
        Standing::Approved
    } else {
        Standing::Failed
    });
    if passed || iteration < state.attempts_allowed { update.tasks(put(line)) } else { halted(update, line) }
}

/// Returns the open comments: earlier ones unless resolved, and new ones.
pub(crate) fn open(before: &[Comment], review: &Review) -> Vec<Comment> {
    let is_settled = |comment: &&Comment| review.resolved_ids.contains(&comment.id);
    let is_repeated = |comment: &&Comment| review.comments.iter().any(|new| new.id == comment.id);
    let left = before.iter().filter(|comment| !is_settled(comment) && !is_repeated(comment)).cloned();
    let taken: Vec<Comment> = left.collect();
    let new = review.clone().numbered(before.iter().map(|comment| comment.id.as_str())).comments;
    taken.into_iter().chain(new).collect()
}

/// Starts a task, except for its standing; `known` holds the notes on earlier work on it.
pub(super) fn begin(update: Update, index: usize, allowed: u32, note: String, known: Unfinished) -> Update {
    update
        .current_task_index(u32::try_from(index).unwrap_or(u32::MAX))
        .task_review_iteration(0)
        .attempts_allowed(allowed)
        .last_reviewed_tree(None)
        .developer_session(None)
        .driver_session_id(None)
        .empty_attempts(0)
        .checks(vec![])
        .failures(known.failures)
        .open_comments(known.comments)
        .last_review(known.last_review)
        .salvage(known.salvage)
        .models(BTreeMap::new())
        .note(note)
}

/// Returns the current task as closed.
fn closed(state: &ExecutionState, moved: &Moved) -> TaskLine {
    let line = state.line();
    match line.mark {
        Mark::Skipped => line,
        _ => TaskLine { mark: Mark::Done, commit: moved.made.as_ref().map(ToString::to_string), ..line },
    }
}

pub(super) fn next_task(state: &ExecutionState, moved: Moved) -> Update {
    if moved.is_aborted {
        return halted(update().standing(Standing::Aborted), state.line());
    }
    let index = state.next_index().unwrap_or(state.index() + 1);
    let mut unfinished = state.unfinished.clone();
    let known = take_notes(&mut unfinished, state.tasks.get(index).map_or("", |line| &line.id));
    let taken_out = known.salvage.clone();
    let line = closed(state, &moved);
    let after: Vec<TaskLine> =
        state.tasks.iter().map(|task| if task.id == line.id { line.clone() } else { task.clone() }).collect();
    let reason = state.blocked(&after, index);
    let update = begin(update(), index, state.profile.max_task_review_iterations, String::new(), known)
        .task_tree(None)
        .taken_out(taken_out)
        .unfinished(unfinished)
        .tasks(put(line).into_iter().chain(started(state, index, reason.is_some())).collect::<Vec<_>>())
        .task_base(Some(moved.base));
    waiting_or_running(update, reason)
}

pub(super) fn finalize(state: &ExecutionState, finalized: Finalized) -> Update {
    if finalized.moved.is_aborted {
        let line = TaskLine { mark: Mark::Halted, ..state.line() };
        return cancelled(update()).tasks(put(line));
    }
    let line = closed(state, &finalized.moved);
    completed(update(), finalized).tasks(put(line)).developer_session(None).driver_session_id(None)
}

/// Ends a run whose branch was moved.
pub(crate) fn cancelled(update: Update) -> Update {
    update.standing(Standing::Aborted).outcome(Some(RunOutcome::Cancelled)).agentic_status(AgenticStatus::Cancelled)
}

/// Completes a run.
pub(crate) fn completed(update: Update, finalized: Finalized) -> Update {
    let Finalized { moved, review, usage, stays } = finalized;
    let (review, mut notices) = match review {
        Some(Ok(review)) => (Some(review), vec![]),
        Some(Err(why)) => (None, vec![format!("there is no final review: {why}")]),
        None => (None, vec![]),
    };
    notices.extend(stays);
    spend(update, Role::Reviewer, usage, NewLimits::default())
        .task_base(Some(moved.base))
        .final_review(review)
        .notices(notices)
        .outcome(Some(RunOutcome::Completed))
        .agentic_status(AgenticStatus::Completed)
}
