//! The state update for a person's decision on a task that did not pass. Pure.

use super::done::{begin, count, put, rebased, update};
use super::state::{AgenticStatus, ExecutionState, ExecutionStateUpdate as Update, RunOutcome};
use super::tasks::{Mark, TaskLine, Unfinished, carry_over, next_open};
use super::view::{SortedNotes, block_reason, sort_notes, take_notes};
use crate::{AttemptOutcome, OnExhausted};
use superstep::graph::overwrite;
use superstep::nodes::{AfterHalt, Halting};
use superstep::plan::Plan;

pub(super) fn halt(state: &ExecutionState, halting: Halting) -> Update {
    let Halting { decision, was_asked, adopted, salvaged, tree, notices, base, .. } = halting;
    let edited = match &decision {
        AfterHalt::EditPlan { markdown } => Some(markdown.clone()),
        _ => adopted.as_ref().map(|adopted| adopted.plan.clone()),
    };
    let current = Unfinished::current(state, salvaged.as_ref());
    let salvage = current.salvage.clone();
    let update = update().halts(state.judgement.halts + 1).notices(state.new_notices(notices));
    let update = update.task_tree(tree.or_else(|| state.attempt.task_tree.clone()));
    let update = rebased(update, base);
    let update = adopted.into_iter().fold(update, |update, adopted| update.plan_hash(Some(adopted.hash)));
    let (update, adoption) = match edited.filter(|edited| state.source.plan_markdown.as_ref() != Some(edited)) {
        Some(markdown) => {
            let continues = matches!(decision, AfterHalt::Retry { .. } | AfterHalt::EditPlan { .. });
            adopt(update, &markdown, state, continues.then_some(current))
        }
        None => (update, None),
    };
    let line = state.line();
    let (update, outcome, status) = match decision {
        AfterHalt::Retry { attempts, note } => again(update, state, (adoption, salvage), attempts, note),
        AfterHalt::EditPlan { .. } => {
            let attempts = state.request.profile.max_task_review_iterations;
            again(update, state, (adoption, salvage), attempts, String::new())
        }
        AfterHalt::Accept => {
            let update = with(update.salvage(salvage), state, adoption, line, Mark::Running);
            (update.standing(AttemptOutcome::Approved), None, AgenticStatus::Running)
        }
        AfterHalt::Skip => {
            let update = with(update.salvage(salvage), state, adoption, line, Mark::Skipped);
            (update.standing(AttemptOutcome::Skipped), None, AgenticStatus::Running)
        }
        AfterHalt::Abort => {
            let (outcome, status) = ended(state, was_asked || state.judgement.standing == AttemptOutcome::Aborted);
            (update.salvage(salvage).standing(AttemptOutcome::Aborted), Some(outcome), status)
        }
    };
    update.outcome(outcome).agentic_status(status)
}

/// The tasks of an adopted plan, and the notes on unfinished ones.
struct Adoption {
    plan: Plan,
    tasks: Vec<TaskLine>,
    unfinished: Vec<Unfinished>,
}

/// An update, with the outcome and status of the run.
type RunUpdate = (Update, Option<RunOutcome>, AgenticStatus);

fn running(update: Update) -> RunUpdate {
    (update, None, AgenticStatus::Running)
}

/// Retries the task; with another plan, continues with its first open task.
fn again(
    update: Update,
    state: &ExecutionState,
    (adoption, salvage): (Option<Adoption>, Option<String>),
    attempts: u32,
    note: String,
) -> RunUpdate {
    if let Some(adoption) = adoption {
        return replan(update, state, (adoption, salvage), (attempts, note));
    }
    let update = update.salvage(salvage);
    let is_new = state.run.task_review_iteration == 0 && state.block_reason(&state.run.tasks, state.index()).is_some();
    let before =
        if is_new { state.run.attempts_allowed.saturating_sub(attempts) } else { state.run.task_review_iteration };
    let allowed = before.saturating_add(attempts);
    let update = update.attempts_allowed(allowed).empty_attempts(0).standing(AttemptOutcome::Unjudged);
    running(update.note(note).tasks(put(TaskLine { mark: Mark::Running, ..state.line() })))
}

/// Returns the outcome of a run that ends at a halt: ended by a person, or given up.
pub(crate) fn ended(state: &ExecutionState, by_person: bool) -> (RunOutcome, AgenticStatus) {
    match !by_person && state.request.profile.on_exhausted == OnExhausted::Fail {
        true => (RunOutcome::Failed, AgenticStatus::Failed),
        false => (RunOutcome::Cancelled, AgenticStatus::Cancelled),
    }
}

/// Sets the mark of the current task, in the adopted plan if there is one.
fn with(update: Update, state: &ExecutionState, adoption: Option<Adoption>, line: TaskLine, mark: Mark) -> Update {
    let line = TaskLine { mark, ..line };
    let Some(Adoption { mut tasks, unfinished, .. }) = adoption else { return update.tasks(put(line)) };
    let update = update.unfinished(unfinished);
    let index = tasks.iter().position(|task| task.id == line.id).unwrap_or(state.index());
    match tasks.get_mut(index).filter(|task| task.id == line.id) {
        Some(task) => *task = line,
        None => tasks.insert(index.min(tasks.len()), line),
    }
    update.current_task_index(u32::try_from(index).unwrap_or(u32::MAX)).tasks(overwrite(tasks))
}

/// Continues with the first open task of another plan, the current one or a different one. Without an open task, the
/// current task is skipped and was the last.
fn replan(
    update: Update,
    state: &ExecutionState,
    (adoption, salvage): (Adoption, Option<String>),
    again: (u32, String),
) -> RunUpdate {
    let Some(index) = next_open(&adoption.tasks, 0) else {
        let update = with(update.salvage(salvage), state, Some(adoption), state.line(), Mark::Skipped);
        return running(update.standing(AttemptOutcome::Skipped));
    };
    let Adoption { plan, mut tasks, mut unfinished } = adoption;
    let known = take_notes(&mut unfinished, tasks.get(index).map_or("", |line| &line.id));
    let continues = known.task == state.line().id;
    let taken_out = known.salvage.clone().filter(|_| !continues);
    let reason = block_reason(&plan, &tasks, index).filter(|_| !continues);
    let same = tasks.get_mut(index).filter(|task| task.id == state.line().id);
    let (attempts, note) = match same {
        Some(task) => {
            *task = TaskLine { title: task.title.clone(), mark: Mark::Running, ..state.line() };
            again
        }
        None => {
            let mark = if reason.is_some() { Mark::Halted } else { Mark::Running };
            tasks.iter_mut().skip(index).take(1).for_each(|task| task.mark = mark);
            (state.request.profile.max_task_review_iterations, String::new())
        }
    };
    let update = begin(update, index, attempts, note, known).taken_out(taken_out);
    let update = update.unfinished(unfinished).tasks(overwrite(tasks));
    match reason {
        Some(reason) => {
            (update.standing(AttemptOutcome::Halted(reason)), Some(RunOutcome::Halted), AgenticStatus::Waiting)
        }
        None => running(update.standing(AttemptOutcome::Unjudged)),
    }
}

/// Adopts another plan, with its tasks. `current` holds the notes on the current task; `None` if it is closed.
fn adopt(
    update: Update,
    markdown: &str,
    state: &ExecutionState,
    current: Option<Unfinished>,
) -> (Update, Option<Adoption>) {
    let Ok(plan) = Plan::parse(markdown) else { return (update, None) };
    let tasks = carry_over(&plan, &state.run.tasks);
    let goal = plan.goal().map(str::to_owned);
    let update = if goal.is_some() { update.goal(goal) } else { update };
    let SortedNotes { kept: unfinished, notices } = sort_notes(&plan, state, current);
    let update = update.plan_markdown(Some(markdown.to_owned())).total_tasks(Some(count(&tasks)));
    let update = update.notices(state.new_notices(notices));
    (update, Some(Adoption { plan, tasks, unfinished }))
}
