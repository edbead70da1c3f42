//! Tasks that interrupt or wait: their records, the exit of their superstep, and their wakeup.

use std::collections::HashMap;
use std::sync::Arc;

use super::state::Run;
use super::trace;
use crate::checkpoint::{Key, QuestionRecord, ReceiveRecord, RowId, TaskRecord, TaskStatus, encode_record};
use crate::graph::context::{Exit, TaskCtx};
use crate::graph::error::RunError;
use crate::graph::interrupt::{InterruptId, Question};
use crate::graph::records::Puts;
use crate::graph::superstep::{QUESTIONS_LIMIT, Task, TaskState};

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

impl Run {
    /// Returns the failure or the exit of a superstep whose tasks have not all finished; it is not applied. Failures
    /// take precedence over interrupts.
    pub(crate) fn unfinished(&mut self) -> Result<Option<Exit>, RunError> {
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
        self.step.tasks[at].asked = Arc::clone(&questions);
        self.step.tasks[at].state = TaskState::Asked { questions, fresh: false };
        Ok(())
    }

    fn count_open(&mut self, at: usize, asked: usize) -> Result<(), RunError> {
        let open = self.step.open_questions.unwrap_or_else(|| self.step.tasks.iter().map(Task::open).sum());
        let count = open + asked - self.step.tasks[at].open();
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
                puts.push((Key::Row(record.payload), question.payload.clone()));
            }
        }
        let task = &self.step.tasks[at];
        let sleeps = questions.is_empty() && (task.record.wake.is_some() || !task.record.receives.is_empty());
        let status = if sleeps { TaskStatus::Waiting } else { TaskStatus::Interrupted };
        let record = TaskRecord { status, ..self.step.tasks[at].to_record() };
        puts.push((self.task_key(self.step.tasks[at].key), encode_record(&record)?));
        recorder.queue(puts, None);
        Ok(())
    }
}
