//! The state update for each node's result. Pure.

use std::collections::{BTreeMap, BTreeSet};

use superstep_base::gather;

use super::view::{dropped_notices, not_approved, phases};
use crate::Role;
use crate::attempt::open_comments;
use crate::phases::{
    HaltCause, Omission, PhaseChange, PhaseReview, PhaseStanding, PhaseState, PhaseStatus, PhaseWork, PlanFileStanding,
    SubtaskFailure, SubtaskState, SubtaskWork, WorkChange,
};
use crate::task_based::done::{cancelled, completed, spend};
use crate::task_based::{AgenticStatus, ExecutionState, ExecutionStateUpdate as Update, Mark, RunOutcome, TaskLine};
use superstep::graph::overwrite;
use superstep::nodes::__private::{BegunPhase, Collision, IntegrationResult, PlannedPhases, tampering_message};
use superstep::nodes::{FinalizeResult, ReviewResult, ReviewVerdict};
use superstep::plan::Comment;

pub(super) fn update() -> Update {
    ExecutionState::update()
}

/// Stores the phases of the approved plan.
pub(super) fn plan_phases(state: &ExecutionState, planned: PlannedPhases) -> Update {
    if planned.is_aborted {
        return update().phase(state.phased.phase.with(PhaseStanding::Aborted));
    }
    let Ok(plan) = state.plan() else { return update() };
    let is_skipped = |line: &&TaskLine| line.mark == Mark::Skipped;
    let skipped: BTreeSet<String> = gather(state.run.tasks.iter().filter(is_skipped).map(|line| line.id.clone()));
    let mut before = state.phased.phases.clone();
    if state.phased.phase.is_accepted {
        let current = before.iter_mut().filter(|phase| phase.phase_index == state.phased.phase_index);
        current.for_each(|phase| phase.status = PhaseStatus::Completed);
    }
    let phases = phases(&plan, &before, &skipped);
    let first = phases.iter().find(|phase| !phase.is_closed()).map_or(0, |phase| phase.phase_index);
    let notices = [not_approved(&phases, &before), dropped_notices(state, &phases, &before)].concat();
    let kept: BTreeSet<&String> = gather(open_ids(&phases));
    let gone = state.phased.works.keys().filter(|id| !kept.contains(id)).map(|id| (id.clone(), None));
    let gone: WorkChange = gather(gone);
    let continues = first == state.phased.phase_index && !state.phased.phase.is_accepted;
    let work = phases.get(first as usize).filter(|_| continues).map(|phase| carry_over(&state.phased.phase, phase));
    let base = planned.base.or_else(|| state.phased.phase.base.clone());
    let in_repo = state.plan_in_repo().is_some();
    let plan_file = if in_repo { PlanFileStanding::Waits } else { PlanFileStanding::Settled };
    update()
        .phase_index(first)
        .phases(PhaseChange::All(phases))
        .phase(PhaseWork { base, plan_file, ..work.unwrap_or_default() })
        .works(gone)
        .tasks(overwrite(vec![]))
        .notices(state.new_notices(notices))
        .outcome(None)
        .agentic_status(AgenticStatus::Running)
}

/// Returns the ids of subtasks whose phase is not on the branch yet.
fn open_ids(phases: &[PhaseState]) -> impl Iterator<Item = &String> {
    let open = phases.iter().filter(|phase| phase.status != PhaseStatus::Completed);
    open.flat_map(|phase| &phase.subtasks).map(|line| &line.subtask_id)
}

/// Returns the parts of the current phase that remain under another plan. Commits remain only if all their subtasks do.
fn carry_over(work: &PhaseWork, phase: &PhaseState) -> PhaseWork {
    let PhaseWork { comments, salvage, retry_reason, note, rejections, allowed, halts, .. } = work.clone();
    let kept = PhaseWork { comments, salvage, retry_reason, note, rejections, allowed, halts, ..PhaseWork::default() };
    let is_done = |id: &String| phase.subtask(id).is_some_and(|line| line.status == PhaseStatus::Completed);
    if !work.integrated.iter().all(is_done) {
        return kept;
    }
    let PhaseWork { tip, tree, integrated, waived, collided, .. } = work.clone();
    PhaseWork { tip, tree, integrated, waived, collided, ..kept }
}

pub(super) fn begin(state: &ExecutionState, prepared: BegunPhase) -> Update {
    if prepared.is_aborted {
        return update().phase(state.phased.phase.with(PhaseStanding::Aborted));
    }
    let is_next = matches!(state.phased.phase.standing, PhaseStanding::Approved | PhaseStanding::LeftOut);
    let update = if is_next { close_phase(state, update()) } else { update() };
    let (index, mut work) = match state.next_phase().filter(|_| is_next) {
        Some(next) => (next, PhaseWork { plan_file: plan_file_after(state), ..PhaseWork::default() }),
        None => (state.phased.phase_index, state.phased.phase.clone()),
    };
    let Some(phase) = state.phased.phases.get(index as usize) else { return update };
    let commit = prepared.base.at.commit.as_ref().map(ToString::to_string);
    let phase = PhaseState {
        attempt: phase.attempt.max(1),
        status: PhaseStatus::Running,
        pre_phase_commit: phase.pre_phase_commit.clone().or(commit),
        ..phase.clone()
    };
    let unmet = state.unmet(&phase);
    let started = if unmet.is_empty() { start_subtasks(&phase) } else { fail_unmet(&phase, &unmet) };
    work = PhaseWork { base: Some(prepared.base), plan: prepared.plan, standing: PhaseStanding::Working, ..work };
    work.allowed = work.allowed.max(state.request.profile.phased.max_attempts);
    update
        .phase_index(index)
        .phases(PhaseChange::phase(phase))
        .phases(PhaseChange::Subtasks(started))
        .phase(work)
        .outcome(None)
        .agentic_status(AgenticStatus::Running)
}

/// Returns the status of the plan file after the current phase.
fn plan_file_after(state: &ExecutionState) -> PlanFileStanding {
    state.phased.phase.plan_file.after_phase(state.phased.phase.standing == PhaseStanding::Approved)
}

/// Returns the subtasks that start now.
fn start_subtasks(phase: &PhaseState) -> Vec<SubtaskState> {
    let open = phase.subtasks.iter().filter(|subtask| subtask.is_open());
    let start = |subtask: &SubtaskState| SubtaskState {
        status: PhaseStatus::Running,
        attempt: phase.attempt,
        error: None,
        ..subtask.clone()
    };
    open.map(start).collect()
}

/// Returns the subtasks that a person must decide on before any subtask starts.
fn fail_unmet(phase: &PhaseState, unmet: &[(String, String)]) -> Vec<SubtaskState> {
    let refuse = |(id, why): &(String, String)| {
        let line = phase.subtask(id)?.clone();
        Some(SubtaskState { status: PhaseStatus::Failed, error: Some(why.clone()), ..line })
    };
    unmet.iter().filter_map(refuse).collect()
}

/// Closes the previous phase: its work is on the branch, or it was left out.
fn close_phase(state: &ExecutionState, update: Update) -> Update {
    let phase = state.this_phase();
    let approved = state.phased.phase.standing == PhaseStanding::Approved;
    let status = if approved { PhaseStatus::Completed } else { PhaseStatus::Failed };
    let gone: WorkChange = gather(phase.subtasks.iter().map(|subtask| (subtask.subtask_id.clone(), None)));
    update.phases(PhaseChange::phase(PhaseState { status, ..phase })).works(gone)
}

/// Returns the reason why the subtasks of the phase cannot be integrated.
pub(super) fn obstacle(state: &ExecutionState) -> Option<PhaseStanding> {
    if state.phased.phase.standing == PhaseStanding::Aborted {
        return Some(PhaseStanding::Aborted);
    }
    let phase = state.this_phase();
    let works = || phase.subtasks.iter().filter_map(|subtask| state.phased.works.get(&subtask.subtask_id));
    if works().any(|work| work.failure == Some(SubtaskFailure::Aborted)) {
        return Some(PhaseStanding::Aborted);
    }
    let failure = |subtask: &SubtaskState| state.work(&subtask.subtask_id).failure;
    let failed = phase.subtasks.iter().filter(|line| line.status == PhaseStatus::Failed && !line.is_left_out());
    // Tampering comes first, subtasks cancelled because of others last; otherwise in plan order.
    let rank = |subtask: &&SubtaskState| match failure(subtask) {
        Some(SubtaskFailure::Tampered) => 0,
        Some(SubtaskFailure::Cancelled) => 2,
        _ => 1,
    };
    if let Some(first) = failed.min_by_key(rank) {
        let is_tampered = failure(first) == Some(SubtaskFailure::Tampered);
        let cause = if is_tampered { HaltCause::Tampering } else { HaltCause::Failure };
        let (subtask, reason) = (Some(first.subtask_id.clone()), first.error.clone().unwrap_or_default());
        return Some(PhaseStanding::Halted { subtask, reason, cause });
    }
    works().any(|work| work.paused.is_some()).then_some(PhaseStanding::Spent)
}

pub(super) fn integrate(state: &ExecutionState, integrated: IntegrationResult) -> Update {
    let IntegrationResult { commits, tip, tree, collision, salvage, waived, mut notices } = integrated;
    let (left_out, new) = dependents_of_skipped(state);
    notices.extend(new);
    if let Some(standing) = obstacle(state) {
        let (paused, works) = put_aside(state, &standing);
        let lines = PhaseChange::Subtasks([left_out, paused].concat());
        return stop_phase(state, standing).phases(lines).works(works).notices(state.new_notices(notices));
    }
    let phase = state.this_phase();
    let mut lines = left_out;
    for commit in &commits {
        let Some(line) = phase.subtask(&commit.id) else { continue };
        let (made, files) = (commit.commit.as_ref().map(ToString::to_string), commit.files.clone());
        lines.push(SubtaskState { commit: made, files, ..line.clone() });
        if !commit.undeclared.is_empty() {
            let files = commit.undeclared.join(", ");
            let (phase, id, attempt) = (phase.phase_index + 1, &commit.id, line.attempt);
            let place = format!("phase {phase}, subtask {id}, attempt {attempt}");
            notices.push(format!("{place}: changed files that it does not declare: {files}"));
        }
    }
    let mut work = state.phased.phase.clone();
    work.integrated.extend(commits.iter().map(|commit| commit.id.clone()));
    (work.tip, work.tree) = (Some(tip), Some(tree));
    work.plan_file = work.plan_file.after_commits(commits.len());
    let notice = |line: &String| format!("`{line}` no longer counts: it fails with work that a person accepted");
    notices.extend(waived.iter().map(notice));
    work.waived.extend(waived);
    let update = update().notices(state.new_notices(notices));
    let Some((id, collision)) = collision else {
        work.standing = PhaseStanding::Integrated;
        return update.phases(PhaseChange::Subtasks(lines)).phase(work);
    };
    work.collided.extend(salvage.clone());
    let (update, line, standing) = handle_collision(state, update, &phase, (id, collision), salvage);
    lines.extend(line);
    work.standing = standing;
    let update = update.phases(PhaseChange::Subtasks(lines));
    waiting(mark_failed(update, phase, &work.standing), &work.standing).phase(work)
}

/// Marks a halted phase as failed until a person decides otherwise.
fn mark_failed(update: Update, phase: PhaseState, standing: &PhaseStanding) -> Update {
    if !matches!(standing, PhaseStanding::Halted { .. }) {
        return update;
    }
    update.phases(PhaseChange::phase(PhaseState { status: PhaseStatus::Failed, ..phase }))
}

/// Cancels the subtasks that waited for a larger budget when another failed.
fn put_aside(state: &ExecutionState, standing: &PhaseStanding) -> (Vec<SubtaskState>, WorkChange) {
    let PhaseStanding::Halted { subtask: Some(id), .. } = standing else { return (vec![], WorkChange::new()) };
    let (phase, why) = (state.this_phase(), format!("cancelled: subtask {id} failed"));
    let is_paused = |line: &&SubtaskState| state.work(&line.subtask_id).paused.is_some();
    let paused: Vec<SubtaskState> = phase.subtasks.iter().filter(is_paused).cloned().collect();
    let cancelled = |line: &SubtaskState| {
        let work = state.work(&line.subtask_id);
        let work = SubtaskWork { paused: None, failure: Some(SubtaskFailure::Cancelled), ..work };
        (line.subtask_id.clone(), Some(work))
    };
    let works = gather(paused.iter().map(cancelled));
    (paused.into_iter().map(|line| line.stopped(&why)).collect(), works)
}

/// Returns the subtasks to leave out because a person skipped one they depend on, with notices.
fn dependents_of_skipped(state: &ExecutionState) -> (Vec<SubtaskState>, Vec<String>) {
    let phase = state.this_phase();
    let (mut lines, mut notices) = (vec![], vec![]);
    for skipped in phase.subtasks.iter().filter(|line| line.omitted == Some(Omission::Skipped)) {
        let id = &skipped.subtask_id;
        let all = state.dependents([id.clone()]);
        let known = state.phased.phases.iter().flat_map(|phase| &phase.subtasks);
        for line in known.filter(|line| all.contains(&line.subtask_id) && line.status == PhaseStatus::Pending) {
            let why = Omission::DependsOn(vec![id.clone()]);
            notices.push(format!("subtask {} is left out: {why}", line.subtask_id));
            lines.push(line.clone().left_out(why));
        }
    }
    (lines, notices)
}

/// Handles a subtask whose work could not be integrated: it runs again, or a person decides.
fn handle_collision(
    state: &ExecutionState,
    update: Update,
    phase: &PhaseState,
    (id, collision): (String, Collision),
    salvage: Option<String>,
) -> (Update, Option<SubtaskState>, PhaseStanding) {
    let (before, reason) = (state.work(&id), collision.message());
    let runs_again = collision.can_be_mended() && !before.second;
    let is_tampered = matches!(collision, Collision::Tampered { .. });
    let line = phase.subtask(&id).cloned();
    if runs_again {
        let again = SubtaskWork {
            collision: Some(collision),
            second: true,
            salvage,
            commits: before.commits.clone(),
            ..before.for_next_attempt()
        };
        let works = WorkChange::from([(id.clone(), Some(again))]);
        let notice = format!("subtask {id} runs once more on the integrated work: {reason}");
        let update = update.works(works).notices(state.new_notices(vec![notice]));
        return (update, line.map(SubtaskState::again), PhaseStanding::Collided);
    }
    let (cause, failure) = match is_tampered {
        true => (HaltCause::Tampering, SubtaskFailure::Tampered),
        false => (HaltCause::Failure, SubtaskFailure::Failed),
    };
    let work = SubtaskWork { collision: Some(collision), salvage, failure: Some(failure), ..before };
    let line = line.map(|line| SubtaskState { status: PhaseStatus::Failed, error: Some(reason.clone()), ..line });
    let update = update.works(WorkChange::from([(id.clone(), Some(work))]));
    (update, line, PhaseStanding::Halted { subtask: Some(id), reason, cause })
}

/// Stops the phase for a person's decision, or because of one.
fn stop_phase(state: &ExecutionState, standing: PhaseStanding) -> Update {
    waiting(mark_failed(update(), state.this_phase(), &standing), &standing).phase(state.phased.phase.with(standing))
}

fn waiting(update: Update, standing: &PhaseStanding) -> Update {
    match standing {
        PhaseStanding::Halted { .. } => update.outcome(Some(RunOutcome::Halted)).agentic_status(AgenticStatus::Waiting),
        PhaseStanding::Spent => update.agentic_status(AgenticStatus::Waiting),
        _ => update,
    }
}

pub(super) fn review(state: &ExecutionState, reviewed: ReviewResult) -> Update {
    let ReviewResult { verdict, usage, model, raised, .. } = reviewed;
    let phase = state.this_phase();
    let update = spend(update(), Role::Reviewer, usage, raised)
        .review_iteration(state.run.review_iteration + 1)
        .models(state.models_with(Role::Reviewer, model));
    let work = state.phased.phase.clone();
    let halted = |reason, cause| PhaseStanding::Halted { subtask: None, reason, cause };
    let (work, result, standing) = match verdict {
        ReviewVerdict::Accepted => (work, None, PhaseStanding::Approved),
        ReviewVerdict::Judged(review) => {
            let passed = review.passes();
            let result = PhaseReview {
                approved: passed,
                severity: review.highest_severity(),
                comments: review.comments.clone(),
            };
            let comments: Vec<Comment> = if passed { vec![] } else { open_comments(&work.comments, &review) };
            let rejections = work.rejections + u32::from(!passed);
            let standing = match passed {
                true => PhaseStanding::Approved,
                false if rejections < work.allowed => PhaseStanding::Rejected,
                false => halted(format!("the review rejected it {}", times(rejections)), HaltCause::Failure),
            };
            let judged = if passed { None } else { work.tree.clone() };
            (PhaseWork { comments, rejections, judged, ..work }, Some(result), standing)
        }
        ReviewVerdict::Aborted | ReviewVerdict::Cut(_) => (work, None, PhaseStanding::Aborted),
        ReviewVerdict::Skipped => {
            let reason = "its review was skipped: the server refused the session".to_owned();
            (work, None, halted(reason, HaltCause::Failure))
        }
        ReviewVerdict::Tampered(what) => {
            (work, None, halted(tampering_message("a reviewer", &what), HaltCause::Tampering))
        }
    };
    let status = if matches!(standing, PhaseStanding::Halted { .. }) { PhaseStatus::Failed } else { phase.status };
    let is_approved = standing == PhaseStanding::Approved;
    let review_result = result.or_else(|| phase.review_result.clone().filter(|_| !is_approved));
    let update = waiting(update, &standing).phases(PhaseChange::phase(PhaseState { status, review_result, ..phase }));
    update.phase(PhaseWork { standing, ..work })
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// Restarts the whole phase from the commit before it.
pub(super) fn retry(state: &ExecutionState, salvage: Vec<String>) -> Update {
    let mut salvage = [state.salvage_references(), salvage].concat();
    salvage.sort();
    salvage.dedup();
    let work = PhaseWork { retry_reason: Some(rejection(&state.phased.phase.comments)), ..state.phased.phase.clone() };
    let PhaseRestart { phase, lines, works, work } = restart(state, work, salvage);
    let update = update().phases(PhaseChange::phase(phase)).phases(PhaseChange::Subtasks(lines));
    update.works(works).phase(work)
}

/// Describes a rejection in one line, with its most severe comment.
fn rejection(comments: &[Comment]) -> String {
    let gravest = comments.iter().rev().max_by_key(|comment| comment.severity);
    let issue = gravest.and_then(|comment| comment.issue.trim().lines().next());
    issue.map_or_else(|| "the review rejected it".into(), |issue| format!("the review rejected it: {issue}"))
}

pub(super) struct PhaseRestart {
    pub(super) phase: PhaseState,
    pub(super) lines: Vec<SubtaskState>,
    pub(super) works: WorkChange,
    pub(super) work: PhaseWork,
}

pub(super) fn restart(state: &ExecutionState, work: PhaseWork, salvage: Vec<String>) -> PhaseRestart {
    let phase = state.this_phase();
    let open = phase.subtasks.iter().filter(|subtask| !subtask.is_left_out());
    let lines: Vec<SubtaskState> = open.cloned().map(SubtaskState::again).collect();
    let fresh = |line: &SubtaskState| (line.subtask_id.clone(), Some(state.work(&line.subtask_id).for_next_attempt()));
    let works: BTreeMap<_, _> = gather(lines.iter().map(fresh));
    let work = PhaseWork {
        tip: None,
        tree: None,
        integrated: vec![],
        waived: vec![],
        collided: vec![],
        plan_file: work.plan_file.after_phase(false),
        standing: PhaseStanding::Working,
        salvage,
        ..work
    };
    let phase = PhaseState { status: PhaseStatus::Retrying, attempt: phase.attempt + 1, ..phase };
    PhaseRestart { phase, lines, works, work }
}

pub(super) fn finalize(state: &ExecutionState, finalized: FinalizeResult) -> Update {
    if finalized.moved.is_aborted {
        return cancelled(update()).phase(state.phased.phase.with(PhaseStanding::Aborted));
    }
    let base = Some(finalized.moved.base.clone());
    let work = PhaseWork { standing: PhaseStanding::Working, base, ..state.phased.phase.clone() };
    let is_open = matches!(state.phased.phase.standing, PhaseStanding::Approved | PhaseStanding::LeftOut);
    let update = if is_open { close_phase(state, update()) } else { update() };
    completed(update, finalized).phase(work)
}
