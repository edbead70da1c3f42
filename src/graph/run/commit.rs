//! Checkpoints and results of a run as records, and when they are committed.

use std::sync::Arc;

use super::apply::ApplyFailure;
use super::state::{ChildState, Outbox, Run};
use crate::checkpoint::{CheckpointId, Key, Row, Source, TaskRecord, TaskStatus, encode_record};
use crate::graph::error::RunError;
use crate::graph::persist::save;
use crate::graph::records::fork::pointer;
use crate::graph::records::{Durability, NEW_LINE, Puts, Recorder, UPDATE_KEY};
use crate::graph::superstep::{FinishedResult, Task, TaskState};
use crate::graph::view::Mode;

/// When a checkpoint is committed.
enum When {
    /// With whatever is committed next.
    WithNext,
    /// Now, without waiting for it.
    Soon,
    /// Now, waiting as the durability asks.
    AsAsked,
}

impl Run {
    /// Makes the next checkpoint and waits for it as the durability requires.
    pub(crate) async fn commit(&mut self, puts: Puts, starts: bool) -> Result<(), RunError> {
        match self.commit_time(starts) {
            When::WithNext => self.queue_checkpoint(puts, Recorder::add_riders)?,
            When::Soon => self.queue_checkpoint(puts, |recorder, puts| recorder.queue(puts, None))?,
            When::AsAsked => self.checkpoint(Source::Loop, puts).await?,
        }
        if self.has_listeners() {
            Box::pin(self.emit_stored(self.pos.meta.step)).await;
            Box::pin(self.emit_shown_values(starts)).await;
        }
        Ok(())
    }

    /// Returns when the present checkpoint is committed. The first and the last one of a subgraph need not be on disk before the
    /// run goes on: no node has run since the one before, or the enclosing task ends next. Commits are stored in order, so the
    /// next one that is waited for covers it; a listener may wait for each.
    fn commit_time(&self, starts: bool) -> When {
        if self.is_root() || self.has_listeners() {
            return When::AsAsked;
        }
        match starts {
            true => When::WithNext,
            false if !self.pos.control.is_idle(&self.table.wiring) => When::AsAsked,
            false if self.child.is_whole_task => When::WithNext,
            false => When::Soon,
        }
    }

    /// Makes a checkpoint of the present position, and waits as the durability requires.
    pub(crate) async fn checkpoint(&mut self, source: Source, puts: Puts) -> Result<(), RunError> {
        let Some((recorder, puts)) = self.saved_checkpoint(source, puts)? else { return Ok(()) };
        let head = self.is_root().then_some(self.pos.meta.id);
        if source == Source::Loop && self.ends() {
            recorder.end_with_next();
        }
        recorder.commit(puts, head).await?;
        Ok(())
    }

    /// Returns whether nothing is written after the present checkpoint, so that the thread can be released with it.
    fn ends(&self) -> bool {
        let is_over = self.is_root() && self.pos.control.is_idle(&self.table.wiring);
        is_over && !self.shared.is_cancelled() && !self.shared.stragglers.are_noted()
    }

    /// Makes a checkpoint of the present position, and waits for nothing. Subgraphs only.
    fn queue_checkpoint(&mut self, puts: Puts, queue: impl FnOnce(&Recorder, Puts)) -> Result<(), RunError> {
        if let Some((recorder, puts)) = self.saved_checkpoint(Source::Loop, puts)? {
            queue(&recorder, puts);
        }
        Ok(())
    }

    /// Makes a checkpoint of the present position; returns its records, if they are stored.
    fn saved_checkpoint(&mut self, source: Source, mut puts: Puts) -> Result<Option<(Arc<Recorder>, Puts)>, RunError> {
        self.advance(source);
        let Some(recorder) = self.recorder().cloned() else { return Ok(None) };
        self.enter(&recorder);
        self.save_checkpoint(&recorder, &mut puts)?;
        Ok(Some((recorder, puts)))
    }

    /// Moves on to the next checkpoint, which is all that there is to do where nothing is stored.
    pub(super) fn advance(&mut self, source: Source) {
        self.pos.meta.step += 1;
        self.pos.meta.source = source;
    }

    /// Allocates the id of the next checkpoint and sets its parent.
    pub(crate) fn enter(&mut self, recorder: &Recorder) {
        let before = self.pos.meta.id;
        self.pos.meta.id = recorder.next_id();
        if before.0 == 0 || self.pos.channels.line == NEW_LINE {
            self.pos.channels.line = self.pos.meta.id;
        }
        self.outbox.previous = before;
        self.pos.meta.parent = match recorder.durability() {
            Durability::Exit if self.child.delta.is_none() => self.outbox.exit_parent,
            _ => (before.0 != 0).then_some(before),
        };
        self.pos.meta.created_at = self.shared.now();
    }

    /// Commits the checkpoint of the input now if a listener wants it; otherwise it is part of the next commit.
    pub(crate) async fn flush_input(&mut self) -> Result<(), RunError> {
        match self.wants(Mode::Checkpoints) {
            true => self.commit_input().await,
            false => Ok(()),
        }
    }

    /// Commits the checkpoint of the input now.
    async fn commit_input(&mut self) -> Result<(), RunError> {
        let Some(recorder) = self.recorder().filter(|_| !self.outbox.input.is_empty()) else { return Ok(()) };
        let (recorder, head) = (Arc::clone(recorder), self.is_root().then_some(self.pos.meta.id));
        Ok(recorder.commit(std::mem::take(&mut self.outbox.input), head).await?)
    }

    /// Commits the input together with items, if the request has any, before anything else is written.
    pub(crate) async fn commit_items(&mut self) -> Result<(), RunError> {
        let Some(recorder) = self.recorder().filter(|recorder| recorder.has_items()).cloned() else { return Ok(()) };
        self.commit_input().await?;
        Ok(recorder.drain(0).await?)
    }

    /// Queues the records of finished siblings; those of the last one are part of the checkpoint's commit. If a
    /// listener waits for them, they are on disk when this returns. `others_run`: tasks of the superstep are running.
    pub(crate) async fn flush_settled(&mut self, others_run: bool) -> Result<(), RunError> {
        if self.outbox.finished.is_empty() && !self.outbox.unacknowledged {
            return Ok(());
        }
        let is_open = others_run || self.step.open_questions.is_some_and(|open| open > 0);
        if !is_open && self.step.tasks.iter().all(Task::is_done) {
            return Ok(());
        }
        let puts = std::mem::take(&mut self.outbox.finished);
        let waited_for = self.outbox.unacknowledged;
        match self.recorder().cloned() {
            Some(recorder) if waited_for => recorder.commit(puts, None).await?,
            Some(recorder) => recorder.queue(puts, None),
            None => {}
        }
        self.emit_stored(self.pos.meta.step + 1).await;
        Ok(())
    }

    /// Encodes a finished task; its records go out with the next commit of finished siblings.
    pub(super) fn save_task(&mut self, at: usize, result: &mut FinishedResult) -> Result<(), RunError> {
        if self.recorder().is_none() {
            return Ok(());
        }
        let mut puts = std::mem::take(&mut self.outbox.finished);
        let before = puts.len();
        let saved = self.save_finished(at, result, &mut puts);
        if saved.is_err() {
            puts.truncate(before);
        }
        self.outbox.finished = puts;
        saved
    }

    /// Stores the results of a superstep that cannot be applied, so that the thread stays readable. Returns the error.
    pub(super) async fn not_applied(&self, failure: ApplyFailure) -> RunError {
        let (tasks, puts, error) = *failure.0;
        match self.store_unapplied(&tasks, puts, &error).await {
            Ok(()) => error,
            Err(failure) => failure,
        }
    }

    async fn store_unapplied(&self, tasks: &[Task], mut puts: Puts, error: &RunError) -> Result<(), RunError> {
        let Some(recorder) = self.recorder() else { return Ok(()) };
        if let [only] = tasks {
            let (status, error) = (TaskStatus::Failed, Some(self.shared.events.secrets.hide(error)));
            let record = TaskRecord { status, error, ..only.to_record() };
            puts.push((self.task_key(only.key), Row::record(record)));
        }
        let head = (self.pos.start.is_some() && self.is_root()).then_some(self.pos.meta.id);
        Ok(recorder.commit(puts, head).await?)
    }

    /// Encodes one of several finished tasks.
    fn save_finished(&self, at: usize, done: &mut FinishedResult, puts: &mut Puts) -> Result<(), RunError> {
        let task = &self.step.tasks[at];
        self.save_writes(task.key, done, puts)?;
        self.save_result(task, done, puts)?;
        done.saved = true;
        Ok(())
    }

    /// Encodes the writes of a lone task; its record follows once its routers have chosen.
    pub(crate) fn save_lone_writes(&self, task: &mut Task, puts: &mut Puts) -> Result<(), RunError> {
        let TaskState::Done(done) = &mut task.state else { return Ok(()) };
        if done.saved || self.pos.start.is_some() {
            return Ok(());
        }
        self.save_writes(task.key, done, puts)
    }

    /// Encodes the record of a lone task.
    pub(crate) fn save_lone_result(&self, task: &Task, puts: &mut Puts) -> Result<(), RunError> {
        match &task.state {
            TaskState::Done(done) if !done.saved => self.save_result(task, done, puts),
            _ => Ok(()),
        }
    }

    fn save_writes(&self, task: u32, done: &mut FinishedResult, puts: &mut Puts) -> Result<(), RunError> {
        let made_by = (self.pos.meta.id, task);
        let FinishedResult { writes, stored, .. } = done;
        stored.clear();
        save::add_rows(&self.table, &self.scope.path, made_by, writes, (stored, puts))
    }

    fn save_result(&self, task: &Task, done: &FinishedResult, puts: &mut Puts) -> Result<(), RunError> {
        let row = save::result(&self.table, task, done, puts)?;
        puts.push((self.task_key(task.key), row));
        Ok(())
    }

    /// Encodes the position as a checkpoint, with the records that change with it.
    pub(crate) fn save_checkpoint(&mut self, recorder: &Recorder, puts: &mut Puts) -> Result<(), RunError> {
        save::checkpoint(&self.table, &mut self.pos, &self.scope.path, recorder, puts)?;
        if self.child.delta.is_none() {
            recorder.supersede(&self.scope.path, self.outbox.previous, self.pos.meta.id);
            if !self.scope.keeps_own {
                recorder.free(&mut self.pos.channels.freed); // its last end may still be referred to
            }
        }
        self.pos.channels.freed.clear();
        let id = self.pos.meta.id;
        if let Some(caller) = self.child.caller {
            puts.push(pointer(caller, id));
        }
        self.outbox.save_beside(id, puts)?;
        self.child.save_pointer(id, puts)
    }

    pub(crate) fn task_key(&self, task: u32) -> Key {
        Key::Task { checkpoint: self.pos.meta.id, task }
    }
}

impl Outbox {
    /// Encodes the records and writes of `update_state`.
    fn save_beside(&mut self, checkpoint: CheckpointId, puts: &mut Puts) -> Result<(), RunError> {
        puts.append(&mut self.beside);
        if let Some(record) = self.update.take() {
            puts.push((Key::Task { checkpoint, task: UPDATE_KEY }, Row::record(record)));
        }
        Ok(())
    }
}

impl ChildState {
    /// Points the enclosing checkpoint at this one.
    fn save_pointer(&mut self, id: CheckpointId, puts: &mut Puts) -> Result<(), RunError> {
        let Some(above) = &mut self.pointer else { return Ok(()) };
        above.record.children.retain(|(name, _)| *name != above.name);
        above.record.children.push((above.name.clone(), id));
        puts.push((save::checkpoint_key(&above.record.namespace, above.id), encode_record(&above.record)?.into()));
        Ok(())
    }
}
