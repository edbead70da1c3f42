//! The state update for each node's result. Pure.

use std::collections::BTreeMap;

use super::state::{AgenticStatus, DeveloperSession, ExecutionState, ExecutionStateUpdate as Update, RunOutcome};
use super::tasks::{LastReview, Mark, TaskLine, Unfinished, lines, next_open};
use super::view::take_notes;
use crate::attempt::{AttemptOutcome, CheckedAttempt, open_comments, work_notices};
use crate::phases::{PhaseChange, aborted};
use crate::{Profile, Role};
use superstep::drivers::{NewLimits, Usage};
use superstep::graph::overwrite;
use superstep::graph::reducers::Change;
use superstep::nodes::{
    AdoptedPlan, ApprovalResult, ArchitectResult, Base, CommittedWork, DevelopResult, FinalizeResult, PlanFile,
    PlanReviewed, PreparedRepository, ReviewResult, ReviewVerdict, VerifyResult,
};
use superstep::plan::{Decision, Plan};

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

pub(crate) fn architect(state: &ExecutionState, written: ArchitectResult) -> Update {
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
        let raw = state.planning.raw_architect_output.clone().unwrap_or_default();
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
    let mut problems = state.planning.plan_problems.clone();
    if state.source.plan_markdown.is_some() || problems.is_empty() {
        problems.extend(found.problems);
    }
    let revisions = state.planning.plan_revisions + u32::from(!problems.is_empty());
    update()
        .goal(found.goal.or_else(|| state.source.goal.clone()))
        .key_files(found.key_files)
        .total_tasks(found.total_tasks)
        .plan_revisions(revisions)
        .plan_problems(problems)
        .agentic_status(AgenticStatus::Waiting)
}

pub(super) fn count(tasks: &[TaskLine]) -> u32 {
    u32::try_from(tasks.len()).unwrap_or(u32::MAX)
}

pub(crate) fn approval(state: &ExecutionState, approved: ApprovalResult) -> Update {
    let ApprovalResult { decision, adopted, .. } = approved;
    let (mut update, mut markdown) = (update(), state.source.plan_markdown.clone());
    let mut known = None;
    if let Some(PlanFile { path, hash, .. }) = state.draft() {
        update = update.plan_path(Some(path));
        known = Some(hash);
    }
    if let Some(AdoptedPlan { hash, plan }) = adopted {
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
                .outcome(Some(if state.planning.plan_ended { RunOutcome::Cancelled } else { RunOutcome::Rejected }))
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
    let goal = plan.as_ref().and_then(Plan::goal).map(str::to_owned).or_else(|| state.source.goal.clone());
    let limit = attempts(&state.request.profile, plan.as_ref());
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

pub(crate) fn prepare(state: &ExecutionState, prepared: PreparedRepository) -> Update {
    let PreparedRepository { base, start, notices, before, .. } = prepared;
    let update = match (state.plan_in_repo(), &state.source.plan_markdown) {
        (Some(path), Some(plan)) => {
            update().plan_path(Some(state.request.working_dir.join(path))).plan_hash(Some(superstep::plan::hash(plan)))
        }
        _ => update(),
    };
    let reason = state.block_reason(&state.run.tasks, state.index());
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
    let open = state.run.tasks.get(index).filter(|line| !line.mark.is_closed());
    open.map(|line| Change::Put(TaskLine { mark, ..line.clone() })).into_iter().collect()
}

/// Waits for a person if there is a reason not to start the task; otherwise starts it.
fn waiting_or_running(update: Update, reason: Option<String>) -> Update {
    match reason {
        Some(reason) => update
            .standing(AttemptOutcome::Halted(reason))
            .outcome(Some(RunOutcome::Halted))
            .agentic_status(AgenticStatus::Waiting),
        None => update.standing(AttemptOutcome::Unjudged).outcome(None).agentic_status(AgenticStatus::Running),
    }
}

/// Sets the base of the task, if it changed: people made commits meanwhile. The files of the last review are without them,
/// so that the next one is not shown what changed since.
pub(super) fn rebased(update: Update, base: Option<Base>) -> Update {
    if base.is_some() { update.task_base(base).last_reviewed_tree(None) } else { update }
}

pub(super) fn developer(state: &ExecutionState, worked: DevelopResult) -> Update {
    let line = TaskLine { attempts: state.line().attempts + 1, mark: Mark::Running, ..state.line() };
    let (outcome, notices) = (AttemptOutcome::after_work(&worked), work_notices(&format!("task {}", line.id), &worked));
    let DevelopResult { session, usage, after, salvaged, model, raised, base, .. } = worked;
    let update = rebased(update(), base);
    let update = if after.left_out == state.attempt.left_out { update } else { update.left_out(after.left_out) };
    spend(update, Role::Developer, usage, raised)
        .driver_session_id(session.as_ref().map(|session| session.id.clone()))
        .developer_session(
            session.map(|session| DeveloperSession { task_index: state.run.current_task_index, session }),
        )
        .task_tree(after.tree.or_else(|| state.attempt.task_tree.clone()))
        .tasks(put(line.costing(Role::Developer, usage)))
        .salvage(salvaged.or_else(|| state.judgement.salvage.clone()))
        .taken_out(None)
        .models(state.models_with(Role::Developer, model))
        .note(String::new())
        .standing(outcome)
        .notices(state.new_notices(notices))
}

pub(super) fn verify(state: &ExecutionState, verified: VerifyResult) -> Update {
    let before = (state.attempt.task_tree.as_ref(), state.attempt.empty_attempts);
    let changes_nothing = super::jobs::changes_nothing(state).unwrap_or(false);
    let checked = CheckedAttempt::of(
        &verified,
        state.attempt.task_base.as_ref(),
        before,
        &state.attempt.left_out,
        changes_nothing,
    );
    let CheckedAttempt { tree, empty, failures, outcome } = checked;
    let outcome = if state.judgement.standing.is_stuck() { state.judgement.standing.clone() } else { outcome };
    let iteration = state.run.task_review_iteration + u32::from(!failures.is_empty());
    let VerifyResult { checks, notices, base, .. } = verified;
    let update = rebased(update(), base)
        .task_tree(tree)
        .checks(checks)
        .failures(failures)
        .empty_attempts(empty)
        .task_review_iteration(iteration)
        .standing(outcome.clone())
        .notices(state.new_notices(notices));
    if continues(state, &outcome, iteration) { update } else { halted(update, state.line()) }
}

/// Returns whether work goes on after a step with this outcome, which was the judgement of this `iteration`.
fn continues(state: &ExecutionState, outcome: &AttemptOutcome, iteration: u32) -> bool {
    match outcome {
        AttemptOutcome::Failed => iteration < state.run.attempts_allowed,
        outcome => !outcome.is_stuck(),
    }
}

/// Halts the task until a person decides.
fn halted(update: Update, line: TaskLine) -> Update {
    update
        .tasks(put(TaskLine { mark: Mark::Halted, ..line }))
        .outcome(Some(RunOutcome::Halted))
        .agentic_status(AgenticStatus::Waiting)
}

pub(super) fn reviewer(state: &ExecutionState, reviewed: ReviewResult) -> Update {
    let ReviewResult { verdict, usage, model, raised, .. } = reviewed;
    let line = TaskLine { reviews: state.line().reviews + 1, ..state.line() }.costing(Role::Reviewer, usage);
    let (outcome, iteration) = (AttemptOutcome::after_review(&verdict), state.run.task_review_iteration + 1);
    let update = spend(update(), Role::Reviewer, usage, raised)
        .review_iteration(state.run.review_iteration + 1)
        .task_review_iteration(iteration)
        .last_reviewed_tree(state.attempt.task_tree.clone())
        .models(state.models_with(Role::Reviewer, model));
    let passed = outcome == AttemptOutcome::Approved;
    let (last, open) = match verdict {
        ReviewVerdict::Judged(review) => {
            let open = if passed { vec![] } else { open_comments(&state.attempt.open_comments, &review) };
            (
                Some(LastReview { approved: passed, severity: review.highest_severity(), comments: review.comments }),
                Some(open),
            )
        }
        ReviewVerdict::Accepted => (None, Some(vec![])),
        ReviewVerdict::Aborted | ReviewVerdict::Skipped | ReviewVerdict::Tampered(_) | ReviewVerdict::Cut(_) => {
            (None, None)
        }
    };
    let update = last.into_iter().fold(update, |update, last| update.last_review(Some(last)));
    let update = open.into_iter().fold(update, Update::open_comments).standing(outcome.clone());
    if continues(state, &outcome, iteration) { update.tasks(put(line)) } else { halted(update, line) }
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
fn closed(state: &ExecutionState, moved: &CommittedWork) -> TaskLine {
    let line = state.line();
    match line.mark {
        Mark::Skipped => line,
        _ => TaskLine { mark: Mark::Done, commit: moved.made.as_ref().map(ToString::to_string), ..line },
    }
}

pub(super) fn next_task(state: &ExecutionState, moved: CommittedWork) -> Update {
    if moved.is_aborted {
        return halted(update().standing(AttemptOutcome::Aborted), state.line());
    }
    let index = state.next_index().unwrap_or(state.index() + 1);
    let mut unfinished = state.judgement.unfinished.clone();
    let known = take_notes(&mut unfinished, state.run.tasks.get(index).map_or("", |line| &line.id));
    let taken_out = known.salvage.clone();
    let line = closed(state, &moved);
    let after: Vec<TaskLine> =
        state.run.tasks.iter().map(|task| if task.id == line.id { line.clone() } else { task.clone() }).collect();
    let reason = state.block_reason(&after, index);
    let update = begin(update(), index, state.request.profile.max_task_review_iterations, String::new(), known)
        .task_tree(None)
        .taken_out(taken_out)
        .unfinished(unfinished)
        .tasks(put(line).into_iter().chain(started(state, index, reason.is_some())).collect::<Vec<_>>())
        .task_base(Some(moved.base));
    waiting_or_running(update, reason)
}

pub(super) fn finalize(state: &ExecutionState, finalized: FinalizeResult) -> Update {
    if finalized.moved.is_aborted {
        let line = TaskLine { mark: Mark::Halted, ..state.line() };
        return cancelled(update()).tasks(put(line));
    }
    let line = closed(state, &finalized.moved);
    completed(update(), finalized).tasks(put(line)).developer_session(None).driver_session_id(None)
}

/// Ends a run whose branch was moved.
pub(crate) fn cancelled(update: Update) -> Update {
    update
        .standing(AttemptOutcome::Aborted)
        .outcome(Some(RunOutcome::Cancelled))
        .agentic_status(AgenticStatus::Cancelled)
}

/// Completes a run.
pub(crate) fn completed(update: Update, finalized: FinalizeResult) -> Update {
    let FinalizeResult { moved, review, usage, stays, .. } = finalized;
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

/// Adds the current phase to the update that ends the run.
fn ended_phase(state: &ExecutionState, update: Update) -> Update {
    let Some(phase) = state.current_phase() else { return update };
    let (phase, lines) = aborted(phase);
    update.phases(PhaseChange::phase(phase)).phases(PhaseChange::Subtasks(lines))
}
