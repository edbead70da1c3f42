//! Checkpoints and results of a run as records.

use super::state::{ChildState, Outbox, Run};
use crate::checkpoint::{CheckpointId, Key, encode_record};
use crate::graph::error::RunError;
use crate::graph::persist::save;
use crate::graph::records::fork::pointer;
use crate::graph::records::{Puts, Recorder, UPDATE_KEY};
use crate::graph::superstep::{Finished, Task, TaskState};

impl Run {
    /// Encodes one of several finished tasks.
    pub(crate) fn save_finished(&self, at: usize, done: &mut Finished, puts: &mut Puts) -> Result<(), RunError> {
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

    fn save_writes(&self, task: u32, done: &mut Finished, puts: &mut Puts) -> Result<(), RunError> {
        let made_by = (self.pos.meta.id, task);
        done.stored = save::rows(&self.table, &self.scope.path, made_by, &done.writes, puts)?;
        Ok(())
    }

    fn save_result(&self, task: &Task, done: &Finished, puts: &mut Puts) -> Result<(), RunError> {
        let record = save::result(&self.table, task, done, puts)?;
        puts.push((self.task_key(task.key), encode_record(&record)?));
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
            puts.push(pointer(caller, id)?);
        }
        self.outbox.save_beside(id, puts)?;
        self.child.save_pointer(id, puts)
    }
}

impl Outbox {
    /// Encodes the records and writes of `update_state`.
    fn save_beside(&mut self, checkpoint: CheckpointId, puts: &mut Puts) -> Result<(), RunError> {
        puts.append(&mut self.beside);
        if let Some(record) = self.update.take() {
            puts.push((Key::Task { checkpoint, task: UPDATE_KEY }, encode_record(&record)?));
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
        puts.push((save::checkpoint_key(&above.record.namespace, above.id), encode_record(&above.record)?));
        Ok(())
    }
}
