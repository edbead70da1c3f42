//! What the decision on a task that did not pass does to the state. Pure.

use super::done::{begin, count, put, update};
use super::state::{AgenticStatus, ExecutionState, ExecutionStateUpdate as Update, RunOutcome, Standing};
use super::tasks::{Mark, TaskLine, carried, next_open};
use crate::graph::overwrite;
use crate::nodes::{AfterHalt, Halting};
use crate::plan::Plan;
use crate::workflows::OnExhausted;

pub(super) fn halt(state: &ExecutionState, halting: Halting) -> Update {
    let Halting { decision, was_asked, adopted, salvaged, tree, notices } = halting;
    let edited = match &decision {
        AfterHalt::EditPlan { markdown } => Some(markdown.clone()),
        _ => adopted.as_ref().map(|adopted| adopted.plan.clone()),
    };
    let update = update().halts(state.halts + 1).salvage(salvaged).notices(state.untold(notices));
    let update = update.task_tree(tree.or_else(|| state.task_tree.clone()));
    let update = adopted.into_iter().fold(update, |update, adopted| update.plan_hash(Some(adopted.hash)));
    let (update, tasks) = match edited.filter(|edited| state.plan_markdown.as_ref() != Some(edited)) {
        Some(markdown) => adopt(update, &markdown, &state.tasks),
        None => (update, None),
    };
    let line = state.line();
    let (update, outcome, status) = match decision {
        AfterHalt::Retry { attempts, note } => {
            (again(update, state, tasks, attempts, note), None, AgenticStatus::Running)
        }
        AfterHalt::EditPlan { .. } => {
            let attempts = state.profile.max_task_review_iterations;
            (again(update, state, tasks, attempts, String::new()), None, AgenticStatus::Running)
        }
        AfterHalt::Accept => {
            let update = with(update, state, tasks, line, Mark::Running).standing(Standing::Approved);
            (update, None, AgenticStatus::Running)
        }
        AfterHalt::Skip => {
            let update = with(update, state, tasks, line, Mark::Skipped).standing(Standing::Skipped);
            (update, None, AgenticStatus::Running)
        }
        AfterHalt::Abort => {
            let (outcome, status) = ended(state, was_asked);
            (update.standing(Standing::Aborted), Some(outcome), status)
        }
    };
    update.outcome(outcome).agentic_status(status)
}

/// The task is worked on again; under another plan, the first that is open.
fn again(update: Update, state: &ExecutionState, tasks: Option<Vec<TaskLine>>, attempts: u32, note: String) -> Update {
    if let Some(tasks) = tasks {
        return replan(update, state, tasks, (attempts, note));
    }
    let allowed = state.task_review_iteration.saturating_add(attempts);
    let update = update.attempts_allowed(allowed).empty_attempts(0).standing(Standing::Unjudged);
    update.note(note).tasks(put(TaskLine { mark: Mark::Running, ..state.line() }))
}

/// What became of a run that ends at a halt: a person ended it, or it gave up by itself.
fn ended(state: &ExecutionState, was_asked: bool) -> (RunOutcome, AgenticStatus) {
    let gave_up = !was_asked && state.profile.on_exhausted == OnExhausted::Fail;
    match state.standing != Standing::Aborted && gave_up {
        true => (RunOutcome::Failed, AgenticStatus::Failed),
        false => (RunOutcome::Cancelled, AgenticStatus::Cancelled),
    }
}

/// The current task under its new mark, in the plan that holds.
fn with(update: Update, state: &ExecutionState, tasks: Option<Vec<TaskLine>>, line: TaskLine, mark: Mark) -> Update {
    let line = TaskLine { mark, ..line };
    let Some(mut tasks) = tasks else { return update.tasks(put(line)) };
    let index = tasks.iter().position(|task| task.id == line.id).unwrap_or(state.index());
    match tasks.get_mut(index).filter(|task| task.id == line.id) {
        Some(task) => *task = line,
        None => tasks.insert(index.min(tasks.len()), line),
    }
    update.current_task_index(u32::try_from(index).unwrap_or(u32::MAX)).tasks(overwrite(tasks))
}

/// The first task of another plan that is not done: the same task goes on, another begins. If there is none, the current
/// task is put aside, and was the last.
fn replan(update: Update, state: &ExecutionState, mut tasks: Vec<TaskLine>, again: (u32, String)) -> Update {
    let Some(index) = next_open(&tasks, 0) else {
        return with(update, state, Some(tasks), state.line(), Mark::Skipped).standing(Standing::Skipped);
    };
    let same = tasks.get_mut(index).filter(|task| task.id == state.line().id);
    let (attempts, note) = match same {
        Some(task) => {
            *task = TaskLine { title: task.title.clone(), mark: Mark::Running, ..state.line() };
            again
        }
        None => (state.profile.max_task_review_iterations, String::new()),
    };
    begin(update, index, attempts, note).tasks(overwrite(tasks))
}

/// The plan that holds from now on, with its tasks.
fn adopt(update: Update, markdown: &str, before: &[TaskLine]) -> (Update, Option<Vec<TaskLine>>) {
    let Ok(plan) = Plan::parse(markdown) else { return (update, None) };
    let tasks = carried(&plan, before);
    let goal = plan.goal().map(str::to_owned);
    let update = if goal.is_some() { update.goal(goal) } else { update };
    (update.plan_markdown(Some(markdown.to_owned())).total_tasks(Some(count(&tasks))), Some(tasks))
}
