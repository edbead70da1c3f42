//! A superstep that a run leaves interrupted, and the next run of the same graph takes up: only the tasks that get answers
//! are read and run, and only they are looked at, however many others wait beside them.

use std::sync::Arc;

use superstep_base::panics::catch_panic;

use super::apply::state_after;
use super::left_step::{KeptStep, LeftStep};
use super::state::{Run, StepState};
use super::task_ends::{TaskEnd, TaskEnds};
use crate::graph::build::Table;
use crate::graph::error::RunError;
use crate::graph::interrupt::Question;
use crate::graph::state::AnyState;
use crate::graph::superstep::{Control, Finished, Packet, Task, TaskState};

/// An interrupted superstep, as the outcome of its run shows it.
pub(crate) struct InterruptedStep {
    table: Arc<Table>,
    state: AnyState,
    /// Without the sends.
    control: Control<Packet>,
    ends: TaskEnds,
}

impl InterruptedStep {
    /// Returns the pending questions.
    pub(crate) fn questions(&self) -> Arc<[Question]> {
        self.ends.iter().flat_map(TaskEnd::asks).cloned().collect()
    }

    /// Returns the state with the results of the tasks that have finished.
    pub(crate) fn state(&self) -> AnyState {
        let ended: Vec<(u32, &Finished)> = self.ends.iter().filter_map(TaskEnd::done).collect();
        let pulls: Vec<u32> = self.ends.iter().filter(|end| end.is_edge).map(|end| end.node).collect();
        let after = catch_panic(|| state_after(&self.table, (&self.state, &self.control), &pulls, &ended));
        after.unwrap_or_else(|_| self.state.clone())
    }
}

impl Run {
    /// Returns the number of tasks that can change in this run.
    pub(crate) fn active_count(&self) -> usize {
        self.step.left.as_ref().map_or(self.step.tasks.len(), |left| left.changed.len())
    }

    /// Returns the index of one of them.
    pub(crate) fn active_index(&self, nth: usize) -> usize {
        self.step.left.as_ref().map_or(nth, |left| left.changed[nth])
    }

    /// Returns the tasks that can change in this run.
    pub(crate) fn active_tasks(&self) -> impl Iterator<Item = &Task> {
        (0..self.active_count()).map(|nth| &self.step.tasks[self.active_index(nth)])
    }

    /// Returns the number of pending questions.
    pub(crate) fn open_questions(&self) -> usize {
        self.step.open_questions.unwrap_or_else(|| self.step.tasks.iter().map(Task::open).sum())
    }

    /// Fails if the results so far cannot be applied: better before the questions are answered than after. Notes what
    /// became of the tasks.
    pub(crate) fn leave_step(&mut self) -> Result<(), RunError> {
        let left = self.step.left.take();
        let mut left = match left.and_then(|left| left.with_ends(&self.table, &self.pos.state, &self.step.tasks)) {
            Some(left) => left,
            None => LeftStep {
                ends: TaskEnds::of(&self.step.tasks),
                checked: self.checked_results()?,
                expires: None,
                changed: (0..self.step.tasks.len()).collect(),
            },
        };
        let asked = left.changed.iter().flat_map(|&at| self.step.tasks[at].asks());
        left.expires = asked.filter_map(|question| question.terms.record.expires).chain(left.expires).min();
        self.step.open_questions = Some(self.open_questions());
        self.step.left = Some(left);
        Ok(())
    }

    /// Returns the superstep as an outcome shows it.
    pub(crate) fn interrupted_step(&self) -> InterruptedStep {
        let ends = match &self.step.left {
            Some(left) => left.ends.clone(),
            None => TaskEnds::of(&self.step.tasks),
        };
        let control = self.pos.control.without_sends();
        InterruptedStep { table: Arc::clone(&self.table), state: self.pos.state.clone(), control, ends }
    }

    /// Takes the interrupted superstep out of the run, if answers alone can continue it.
    pub(crate) fn take_left_step(&mut self) -> Option<KeptStep> {
        let open = self.step.open_questions?;
        let waits_for_answers = |task: &Task| match &task.state {
            TaskState::Done(_) => true,
            TaskState::Asked { questions, .. } => {
                !questions.is_empty() && task.record.wake.is_none() && task.record.receives.is_empty()
            }
            TaskState::Ready | TaskState::Failed(_) => false,
        };
        let is_kept = open > 0 && self.step.tasks.len() > 1 && self.active_tasks().all(waits_for_answers);
        let left = self.step.left.take().filter(|_| is_kept)?;
        Some(KeptStep { tasks: std::mem::take(&mut self.step.tasks), open, left })
    }

    /// Takes up the superstep that the last run left.
    pub(crate) fn take_up(&mut self, step: KeptStep) {
        let KeptStep { tasks, open, mut left } = step;
        left.changed.clear();
        self.step =
            StepState { tasks, planned: true, open_questions: Some(open), left: Some(left), ..StepState::default() };
    }

    /// Replaces tasks that the last run left by restored ones.
    pub(crate) fn change_tasks(&mut self, changed: Vec<(usize, Task)>) {
        let (mut open, mut places) = (self.open_questions(), vec![]);
        for (at, task) in changed {
            open = open - self.step.tasks[at].open() + task.open();
            self.step.tasks[at] = task;
            places.push(at);
        }
        self.step.open_questions = Some(open);
        if let Some(left) = &mut self.step.left {
            left.changed = places;
        }
    }

    /// Plans the superstep anew, instead of taking up what the last run left of it.
    pub(crate) fn drop_left_step(&mut self) {
        if self.step.left.is_some() {
            self.step = StepState::default();
        }
    }
}
