//! Tasks that interrupt or wait: their records, the exit of their superstep, and their wakeup, by the time or a signal.
//!
//! A superstep that a run leaves interrupted is taken up by the next run of the same graph: only the tasks that get answers
//! are read and run, and only they are looked at, however many others wait beside them.

use std::collections::HashMap;
use std::sync::Arc;

use superstep_base::panics::catch_panic;

use super::apply::state_after;
use super::state::{Run, StepNotes, StepState, StoppedStep, TaskEnd, TaskEnds};
use super::trace;
use crate::checkpoint::{Key, QuestionRecord, ReceiveRecord, Row, RowId, TaskRecord, TaskStatus};
use crate::graph::build::Table;
use crate::graph::context::{Exit, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::interrupt::{InterruptId, Question};
use crate::graph::records::{Journal, PendingSignal, Puts};
use crate::graph::state::AnyState;
use crate::graph::superstep::{Control, FinishedResult, Packet, QUESTIONS_LIMIT, Task, TaskState};

/// Waits of a task other than for answers.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Time at which it resumes, in milliseconds since 1970.
    pub wake: Option<u64>,
    pub receives: Vec<ReceiveRecord>,
}

impl Waits {
    pub(crate) fn of(ctx: &TaskCtx, wake: Option<u64>) -> Self {
        Self { wake, receives: std::mem::take(&mut ctx.state().waits.receives) }
    }
}

impl Exit {
    /// Returns true if signals that have arrived meanwhile can continue the superstep.
    pub(crate) fn may_receive(self) -> bool {
        match self {
            Self::Interrupted | Self::Awaiting(_) => true,
            Self::Finished | Self::Waiting(_) | Self::Stopped => false,
            Self::Cancelled | Self::Drained | Self::Budget(_) => false,
        }
    }
}

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
        let ended: Vec<(u32, &FinishedResult)> = self.ends.iter().filter_map(TaskEnd::result).collect();
        let pulls: Vec<u32> = self.ends.iter().filter(|end| end.is_edge).map(|end| end.node).collect();
        let after = catch_panic(|| state_after(&self.table, (&self.state, &self.control), &pulls, &ended));
        after.unwrap_or_else(|_| self.state.clone())
    }
}

impl Run {
    /// Returns the failure or the exit of a superstep whose tasks have not all finished; it is not applied. Failures
    /// take precedence over interrupts.
    pub(crate) fn failure_or_exit(&mut self) -> Result<Option<Exit>, RunError> {
        if let Some(error) = self.active_tasks().find_map(Task::failure) {
            return Err(error.clone());
        }
        if let Some(exit) = self.step.halted.take() {
            return Ok(Some(exit));
        }
        if self.step.open_questions.is_some_and(|open| open > 0) {
            return Ok(Some(Exit::Interrupted));
        }
        let waiting = || self.step.tasks.iter().filter(|task| matches!(task.state, TaskState::Asked { .. }));
        if waiting().next().is_none() {
            return Ok(None);
        }
        let open = waiting().any(|task| !task.asks().is_empty());
        Ok(Some(match (open, self.receives().next()) {
            (true, _) => Exit::Interrupted,
            (false, Some(_)) => Exit::Awaiting(self.wakes()),
            (false, None) => self.wakes().map_or(Exit::Interrupted, Exit::Waiting),
        }))
    }

    /// Returns the earliest time at which a sleeping task resumes.
    pub(crate) fn wakes(&self) -> Option<u64> {
        let waiting = self.step.tasks.iter().filter(|task| matches!(task.state, TaskState::Asked { .. }));
        waiting.filter_map(|task| task.record.wake).min()
    }

    /// Wakes tasks whose time has come.
    pub(crate) fn wake_due(&mut self) {
        if self.step.tasks.iter().all(|task| task.record.wake.is_none()) {
            return;
        }
        let now = self.shared.now();
        for task in self.step.tasks.iter_mut().filter(|task| task.record.wake.is_some_and(|wake| wake <= now)) {
            if let TaskState::Asked { fresh, .. } = &mut task.state {
                *fresh = true;
            }
        }
    }

    pub(crate) fn asked(&mut self, at: usize, questions: Vec<Question>, waits: Waits) -> Result<(), RunError> {
        (self.step.tasks[at].record.wake, self.step.tasks[at].record.receives) = (waits.wake, waits.receives);
        self.count_open(at, questions.len())?;
        trace::asked(&self.scope.names, &questions);
        self.note_questions(at, &questions);
        self.save_waiting(at, &questions)?;
        let questions: Arc<[Question]> = questions.into();
        self.step.tasks[at].asked = Arc::clone(&questions).into();
        self.step.tasks[at].state = TaskState::Asked { questions, fresh: false };
        Ok(())
    }

    fn count_open(&mut self, at: usize, asked: usize) -> Result<(), RunError> {
        let count = self.open_questions() + asked - self.step.tasks[at].open();
        if count > QUESTIONS_LIMIT {
            let (from, what) = (self.node_name(self.step.tasks[at].node), "the open questions of its superstep");
            return Err(RunError::TooMany { from, what, count, limit: QUESTIONS_LIMIT });
        }
        self.step.open_questions = Some(count);
        Ok(())
    }

    /// Subtracts the questions of a task that has ended from the open ones.
    pub(crate) fn count_closed(&mut self, at: usize) {
        if let Some(open) = &mut self.step.open_questions {
            *open -= self.step.tasks[at].open();
        }
    }

    fn note_questions(&mut self, at: usize, questions: &[Question]) {
        let (checkpoint, key) = (self.pos.meta.id, self.step.tasks[at].key);
        let own = |question: &Question| (question.id.checkpoint, question.id.task) == (checkpoint, key);
        let record = |question: &Question| QuestionRecord {
            checkpoint: question.id.checkpoint,
            task: question.id.task,
            place: question.id.place,
            asker: own(question).then(|| question.asker.clone()),
            name: question.name.clone(),
            payload: RowId {
                checkpoint: question.id.checkpoint,
                task: question.id.task,
                slot: RowId::QUESTIONS + question.id.place,
            },
            node: question.node.clone(),
            namespace: question.namespace.clone(),
            answered: false,
        };
        let has_terms = |question: &&Question| question.terms.record.approvals > 0;
        let terms = questions.iter().filter(has_terms).map(|question| question.terms.record.clone());
        (self.step.tasks[at].record.questions, self.step.tasks[at].record.terms) =
            (questions.iter().map(record).collect(), terms.collect());
    }

    fn save_waiting(&mut self, at: usize, questions: &[Question]) -> Result<(), RunError> {
        let mut puts: Puts = std::mem::take(&mut self.outbox.finished);
        let Some(recorder) = self.recorder() else { return Ok(()) };
        let asked = self.step.tasks[at].asked.iter().map(|asked| (asked.id, &asked.payload));
        let stored: HashMap<InterruptId, &Vec<u8>> = asked.collect();
        for (question, record) in questions.iter().zip(&self.step.tasks[at].record.questions) {
            if stored.get(&question.id) != Some(&&question.payload) {
                puts.push((Key::Row(record.payload), question.payload.clone().into()));
            }
        }
        let task = &self.step.tasks[at];
        let sleeps = questions.is_empty() && (task.record.wake.is_some() || !task.record.receives.is_empty());
        let status = if sleeps { TaskStatus::Waiting } else { TaskStatus::Interrupted };
        let record = TaskRecord { status, ..self.step.tasks[at].to_record() };
        puts.push((self.task_key(self.step.tasks[at].key), Row::record(record)));
        recorder.queue(puts, None);
        Ok(())
    }

    /// Returns the signals that tasks wait for.
    pub(crate) fn receives(&self) -> impl Iterator<Item = &ReceiveRecord> {
        let waiting = self.active_tasks().filter(|task| matches!(task.state, TaskState::Asked { .. }));
        waiting.flat_map(|task| &task.record.receives)
    }

    /// Wakes tasks whose signals have arrived or were received before a crash, at most one task per signal. Returns
    /// true if there are any.
    pub(crate) async fn wake_signalled(&mut self) -> Result<bool, RunError> {
        if self.receives().next().is_none() {
            return Ok(false);
        }
        let Some(recorder) = self.shared.recorder.clone() else { return Ok(false) };
        let pending_signals = recorder.pending_signals().await?;
        let mut left: Vec<&PendingSignal> = pending_signals.iter().collect();
        let mut woken = false;
        for task in &mut self.step.tasks {
            let journal = self.scope.journal.journal.as_ref().or(task.journal.as_ref()).cloned();
            woken |= wake(task, journal.as_deref(), &mut left);
        }
        Ok(woken)
    }

    /// Returns the number of tasks that can change in this run.
    pub(crate) fn active_count(&self) -> usize {
        self.step.left.as_ref().map_or(self.step.tasks.len(), |left| left.changed.len())
    }

    /// Returns the index of one of them.
    pub(crate) fn active_index(&self, nth: usize) -> usize {
        self.step.left.as_ref().map_or(nth, |left| left.changed[nth])
    }

    /// Returns the tasks that can change in this run.
    fn active_tasks(&self) -> impl Iterator<Item = &Task> {
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
            None => StepNotes {
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
    pub(crate) fn take_left_step(&mut self) -> Option<StoppedStep> {
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
        Some(StoppedStep { tasks: std::mem::take(&mut self.step.tasks), open, left })
    }

    /// Takes up the superstep that the last run left.
    pub(crate) fn take_up(&mut self, step: StoppedStep) {
        let StoppedStep { tasks, open, mut left } = step;
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

/// Wakes a task if a signal that it waits for is left.
fn wake(task: &mut Task, journal: Option<&Journal>, left: &mut Vec<&PendingSignal>) -> bool {
    let TaskState::Asked { fresh, .. } = &mut task.state else { return false };
    let mut arrived = false;
    for awaited in &task.record.receives {
        if journal.is_some_and(|journal| journal.has(&awaited.entry)) {
            arrived = true;
        } else if let Some(at) = left.iter().position(|pending| awaited.takes(&pending.record)) {
            left.remove(at);
            arrived = true;
        }
    }
    *fresh |= arrived;
    task.again |= arrived;
    arrived
}
