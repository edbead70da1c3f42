//! The job of each node, built from the state. Pure.

use crate::attempt::{AttemptJob, brief, commands, worktree};
use crate::phases::{
    ENDED, HaltCause, PhaseStanding, PhaseStatus, PlanFileStanding, Subtask, SubtaskState, SubtaskWork,
};
use crate::task_based::{self, ExecutionState};
use crate::{CommitSlots, OnSubtaskFailure, PlanContext, Role};
use superstep::graph::NodeError;
use superstep::nodes::__private::{
    Advance, BeginPhaseJob, Collision, EndPhasesJob, HaltPhaseJob, IntegrateJob, Lane, Part, PhaseEvent, PlanPhasesJob,
    RetryPhaseJob, ReviewPhaseJob,
};
use superstep::nodes::{
    AfterHalt, Base, Brief, BriefPhase, CommitJob, EventPlace, Folder, Halted, HaltedPhasePlace, PrepareJob, Siblings,
};
use superstep::plan::{Plan, Task};
use superstep::workspace::CommitId;

type Job<T> = Result<T, NodeError>;

/// Returns the job of the preparation. The plan enters the user's files with the first approved phase.
pub(super) fn prepare(state: &ExecutionState) -> Job<PrepareJob> {
    Ok(task_based::jobs::prepare(state)?.plan_waits(true))
}

pub(super) fn plan_phases(state: &ExecutionState) -> Job<PlanPhasesJob> {
    state.plan()?;
    let base = state.phase_base()?;
    let advance = advance(state, &base).filter(|_| state.phased.phase.is_accepted);
    let advance = advance.map(|advance| (advance, base.at));
    Ok(PlanPhasesJob::new(state.folder(), state.worktrees()).advance(advance))
}

pub(super) fn begin(state: &ExecutionState) -> Job<BeginPhaseJob> {
    let (base, plan) = (state.phase_base()?, state.plan()?);
    let is_next = matches!(state.phased.phase.standing, PhaseStanding::Approved | PhaseStanding::LeftOut);
    let phase = match state.next_phase().filter(|_| is_next) {
        Some(next) => state.phased.phases.get(next as usize).cloned().unwrap_or_default(),
        None => state.this_phase(),
    };
    let place = EventPlace { phase_index: phase.phase_index, attempt: phase.attempt.max(1), ..EventPlace::default() };
    let is_retry = phase.subtasks.iter().any(|subtask| subtask.status == PhaseStatus::Retrying);
    let event = match (phase.attempt, is_retry) {
        (0, _) => Some(PhaseEvent::PhaseStarted(place)),
        (_, true) if state.phased.phase.standing == PhaseStanding::Working => {
            Some(PhaseEvent::PhaseRetry(EventPlace { reason: state.phased.phase.retry_reason.clone(), ..place }))
        }
        (_, _) => None,
    };
    let advance = advance(state, &base);
    let job = BeginPhaseJob::new(state.folder(), base.at, base.tree, (state.home(), plan.markdown().to_owned()));
    Ok(job.advance(advance).sweep(is_next.then(|| state.worktrees())).event(event))
}

/// Returns the move of the branch to the approved work.
fn advance(state: &ExecutionState, base: &Base) -> Option<Advance> {
    let from = base.at.commit.clone()?;
    let approved = state.phased.phase.standing == PhaseStanding::Approved || state.phased.phase.is_accepted;
    approved.then(|| Advance {
        branch: base.at.branch.clone().unwrap_or_default(),
        to: state.phased.phase.tip.clone().unwrap_or_else(|| from.clone()),
        from,
        event: Some(PhaseEvent::PhaseCompleted(state.place())),
    })
}

/// Returns the subtasks of the phase to start.
pub(super) fn subtasks(state: &ExecutionState) -> Vec<Subtask> {
    let phase = state.this_phase();
    let Ok(plan) = state.plan() else { return vec![] };
    if state.phased.phase.standing == PhaseStanding::Aborted {
        return vec![];
    }
    if !state.unmet(&phase).is_empty() {
        return vec![]; // a person decides first
    }
    let open = phase.subtasks.iter().filter(|subtask| subtask.is_open());
    let task = |subtask: &SubtaskState| plan.tasks().find(|task| task.id.as_str() == subtask.subtask_id);
    open.filter_map(|subtask| Some(assign_subtask(state, subtask, &plan, &task(subtask)?))).collect()
}

fn assign_subtask(state: &ExecutionState, line: &SubtaskState, plan: &Plan, task: &Task<'_>) -> Subtask {
    let (phase, work) = (state.this_phase(), state.work(&line.subtask_id));
    let base = state.phase_base().ok().and_then(|base| base.at.commit);
    // After a collision it starts on the integrated work, otherwise on commits that people made for it.
    let at = match work.collision {
        Some(_) => state.phased.phase.tip.clone().or(base),
        None => work.commits.clone().or(base),
    };
    // One name for each attempt, so that the stop file of an earlier one does not count.
    let name = format!("phase-{}-attempt-{}", phase.phase_index + 1, phase.attempt);
    let collision = work.collision.as_ref().filter(|_| work.second);
    let place = EventPlace {
        subtask_id: Some(line.subtask_id.clone()),
        title: line.title.clone(),
        reason: collision.map(|collision| format!("once more on the integrated work: {}", collision.message())),
        ..state.place()
    };
    let siblings = Siblings {
        group: name.clone(),
        at_once: state.request.profile.phased.max_parallel,
        stopped: state.worktrees().join(format!("{name}.stopped")),
    };
    // The second run has a worktree of its own.
    let second = if work.second { "-2" } else { "" };
    Subtask {
        brief: subtask_brief(state, plan, task),
        line: line.clone(),
        lane: Lane { siblings, place, stops_others: state.request.profile.phased.on_failure == OnSubtaskFailure::Halt },
        changes_nothing: task.changes_nothing,
        profile: state.request.profile.clone(),
        spent: state.result.usage,
        budget: state.budget(),
        repository: state.folder(),
        others: others(state),
        worktree: state.worktrees().join(format!("{name}-task-{}{second}", line.subtask_id)),
        at,
        commits: work.commits.clone(),
        comments: state.phased.phase.comments.clone(),
        failures: work.collision.iter().map(Collision::message).collect(),
        note: state.phased.phase.note.clone(),
        salvage: salvage_of(state, &work),
        second: work.second,
        turns: work.turns,
        without_needs: work.without_needs,
        progress: work.paused,
    }
}

/// Returns the run's branch and the one that the user was on.
fn others(state: &ExecutionState) -> Vec<String> {
    let Some(start) = &state.run.start else { return vec![] };
    start.at.branch.iter().chain(start.at.others.keys()).cloned().collect()
}

/// Returns the references of earlier work on a subtask: its own, or those of the whole phase after a rejection.
fn salvage_of(state: &ExecutionState, work: &SubtaskWork) -> Vec<String> {
    match &work.salvage {
        Some(own) => vec![own.clone()],
        None => state.phased.phase.salvage.clone(),
    }
}

/// Returns the part of the plan for a subtask's developer.
fn subtask_brief(state: &ExecutionState, plan: &Plan, task: &Task<'_>) -> Brief {
    let context = state.request.profile.phased.plan_context;
    let brief = brief(plan, task, context, state.source.goal.as_ref());
    let section = if context == PlanContext::Full { task.section.into() } else { brief.section };
    Brief { section, phase: Some(brief_phase(state, vec![])), ..brief }
}

/// Returns the place of the current phase; `subtasks` are named to its reviewer.
fn brief_phase(state: &ExecutionState, subtasks: Vec<String>) -> BriefPhase {
    let is_shown = state.request.profile.phased.plan_context == PlanContext::Full;
    BriefPhase {
        number: state.this_phase().phase_index + 1,
        total: u32::try_from(state.phased.phases.len()).unwrap_or(u32::MAX),
        plan: is_shown.then(|| state.phased.phase.plan.clone()),
        subtasks,
    }
}

pub(super) fn integrate(state: &ExecutionState) -> Job<IntegrateJob> {
    let (base, plan) = (state.phase_base()?, state.plan()?);
    let since = base.at.commit.clone().ok_or_else(|| NodeError::permanent("the phase has no commit to start from"))?;
    let commands_of = |id: &str| -> Vec<String> {
        let task = plan.tasks().find(|task| task.id.as_str() == id);
        task.map(|task| commands(&task)).unwrap_or_default()
    };
    let integrated = state.phased.phase.integrated.iter().filter(|id| !state.work(id).accepted);
    let mut verify: Vec<String> = integrated.flat_map(|id| commands_of(id)).collect();
    verify.retain(|line| !state.phased.phase.waived.contains(line));
    let waits = state.phased.phase.plan_file == PlanFileStanding::Waits;
    let tip = state.phased.phase.tip.clone().unwrap_or(since);
    let worktree = worktree(&state.request.profile, state.folder(), state.integration_folder(), tip);
    let parts = if super::done::obstacle(state).is_some() { vec![] } else { parts(state)? };
    Ok(IntegrateJob::new(worktree, state.phased.phase.tree.clone().unwrap_or(base.tree), parts)
        .plan(state.plan_in_repo().filter(|_| waits).map(|path| (path, plan.markdown().to_owned())))
        .verify(verify)
        .is_strict(state.request.profile.phased.strict_files))
}

/// Returns the completed subtasks that are not integrated yet, in plan order.
fn parts(state: &ExecutionState) -> Job<Vec<Part>> {
    let (plan, phase) = (state.plan()?, state.this_phase());
    let issue = state.request.issue.as_ref().map(|issue| issue.id.as_str());
    let part = |task: Task<'_>| {
        let subtask = phase.subtask(task.id.as_str())?;
        let (id, work) = (&subtask.subtask_id, state.work(&subtask.subtask_id));
        let is_done = subtask.status == PhaseStatus::Completed && !state.phased.phase.integrated.contains(id);
        is_done.then_some(())?;
        Some(Part {
            id: id.clone(),
            title: task.title.to_owned(),
            from: work.from?,
            tree: work.tree?,
            declared: task.files.to_vec(),
            verify: if work.accepted { vec![] } else { commands(&task) },
            message: state.request.profile.commit_template.fill(CommitSlots { issue, title: task.title, task: id }),
            phase: phase.phase_index + 1,
            attempt: subtask.attempt,
            at: work.at,
            commits: work.commits,
            second: work.second,
            accepted: work.accepted,
        })
    };
    Ok(plan.tasks().filter_map(part).collect())
}

pub(super) fn retry(state: &ExecutionState) -> Job<RetryPhaseJob> {
    Ok(RetryPhaseJob::new(state.folder(), state.worktrees()).kept(state.to_keep()))
}

pub(super) fn halt(state: &ExecutionState) -> Job<HaltPhaseJob> {
    let (phase, base) = (state.this_phase(), state.phase_base()?);
    let own = base.at.branch.clone();
    let (subtask, reason) = match &state.phased.phase.standing {
        PhaseStanding::Halted { subtask, reason, .. } => (subtask.clone(), reason.clone()),
        _ => (None, ENDED.to_owned()),
    };
    // The work that a person can accept: that of the subtask, or of the whole phase.
    let accepted = match &subtask {
        Some(id) => {
            let work = state.work(id);
            work.from.zip(work.tree).map(|(from, tree)| [from, tree])
        }
        None => state.phased.phase.tree.clone().map(|tree| [base.tree, tree]),
    };
    let line = subtask.as_ref().and_then(|id| phase.subtask(id));
    let title = line.map_or_else(|| format!("phase {}", phase.phase_index + 1), |line| line.title.clone());
    let question = Halted {
        task: subtask.clone().unwrap_or_default(),
        title,
        reason,
        attempts: phase.attempt,
        comments: state.phased.phase.comments.clone(),
        cost: phase.subtasks.iter().map(|subtask| subtask.cost).sum(),
        phase: Some(HaltedPhasePlace { phase: phase.phase_index + 1, subtask }),
        ..Halted::default()
    };
    let (agent, reference) = (state.agent(Role::Developer), state.integration_reference());
    Ok(HaltPhaseJob::new(agent, state.folder(), state.worktrees(), reference)
        .question((state.phased.phase.standing != PhaseStanding::Spent).then_some(question))
        .kept(state.to_keep())
        .salvage(state.salvage_references().into_iter().chain(state.phased.phase.salvage.clone()).collect())
        .file(state.plan_file())
        .accepted(accepted)
        .unfit(unfit(state))
        .unattended(unattended_decision(state))
        .back(own.zip(task_based::jobs::back(state))))
}

/// Returns the reason why the halted subtask's work cannot be accepted: a merge conflict.
fn unfit(state: &ExecutionState) -> Option<String> {
    let PhaseStanding::Halted { subtask: Some(id), reason, .. } = &state.phased.phase.standing else { return None };
    let collision = state.work(id).collision?;
    (matches!(collision, Collision::Conflict { .. } | Collision::Commits { .. }) && collision.message() == *reason)
        .then(|| reason.clone())
}

fn unattended_decision(state: &ExecutionState) -> Option<AfterHalt> {
    match state.phased.phase.standing {
        PhaseStanding::Aborted => Some(AfterHalt::Abort),
        PhaseStanding::Halted { cause: HaltCause::Tampering, .. } => None,
        _ => task_based::jobs::unattended(&state.request.profile),
    }
}

pub(super) fn finalize(state: &ExecutionState) -> Job<EndPhasesJob> {
    let base = state.phase_base()?;
    let advance = advance(state, &base);
    let commit = advance.as_ref().map(|advance| advance.to.clone()).or(base.at.commit.clone());
    let commit = end_of(state, base, commit);
    let all = task_based::jobs::finalize_after(state, commit)?;
    Ok(EndPhasesJob::new(state.worktrees(), state.integration_reference(), all).advance(advance))
}

/// Returns an empty commit job, because all phases are committed already.
fn end_of(state: &ExecutionState, base: Base, commit: Option<CommitId>) -> CommitJob {
    let at = superstep::workspace::BranchPositions { commit, ..base.at };
    CommitJob::new(state.folder(), Base { at, tree: base.tree }, None, String::new()).attempt(0)
}

pub(super) fn review(state: &ExecutionState) -> Job<ReviewPhaseJob> {
    let base = state.phase_base()?;
    let at = state.phased.phase.tip.clone().or(base.at.commit.clone());
    let at = at.ok_or_else(|| NodeError::permanent("the phase has no commit to review"))?;
    let job = AttemptJob {
        profile: &state.request.profile,
        folder: Folder { directory: state.integration_folder(), apart: vec![] },
        brief: phase_brief(state)?,
        number: state.this_phase().attempt,
        base,
        together: None,
    };
    let trees = [state.phased.phase.tree.as_ref(), state.phased.phase.judged.as_ref()];
    let review = job.reviewer(state.agent(Role::Reviewer), trees, checks(state), &state.phased.phase.comments);
    Ok(ReviewPhaseJob::new(state.folder(), at, review))
}

/// Returns the commands that ran on the integrated work, one per line.
fn checks(state: &ExecutionState) -> Vec<String> {
    let Ok(plan) = state.plan() else { return vec![] };
    let is_checked =
        |id: &str| state.phased.phase.integrated.iter().any(|known| known == id) && !state.work(id).accepted;
    let tasks = plan.tasks().filter(|task| is_checked(task.id.as_str()));
    let line_of = |command: &str| match state.phased.phase.waived.iter().any(|waived| waived == command) {
        true => format!("`{command}` fails with work that a person accepted; it does not count"),
        false => format!("`{command}` succeeded"),
    };
    let mut lines: Vec<String> = vec![];
    for line in tasks.flat_map(|task| task.verify).map(|command| line_of(&command.to_string())) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Returns the phase as its reviewer's prompt shows it: the plan, and every subtask.
fn phase_brief(state: &ExecutionState) -> Job<Brief> {
    let (plan, phase) = (state.plan()?, state.this_phase());
    let tasks: Vec<Task<'_>> = plan.tasks().filter(|task| phase.subtask(task.id.as_str()).is_some()).collect();
    let left_out = |id: &str| phase.subtask(id).is_some_and(SubtaskState::is_left_out);
    let name = |task: &Task<'_>| {
        let note = match task.id.as_str() {
            id if left_out(id) => " (left out by a person)",
            id if state.work(id).accepted => " (accepted by a person without its checks)",
            _ => "",
        };
        format!("Subtask {}: {}{note}", task.id, task.title)
    };
    Ok(Brief {
        id: format!("phase-{}", phase.phase_index + 1),
        title: format!("Phase {}", phase.phase_index + 1),
        position: phase.phase_index as usize + 1,
        total: state.phased.phases.len(),
        goal: state.source.goal.clone().unwrap_or_default(),
        section: tasks.iter().map(|task| task.section).collect::<String>().into(),
        acceptance: tasks.iter().flat_map(|task| task.acceptance.iter().cloned()).collect(),
        phase: Some(brief_phase(state, tasks.iter().map(name).collect())),
        ..Brief::default()
    })
}
