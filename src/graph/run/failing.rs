//! Failures of tasks: by an error, by a panic, or by a panic while a cancelled run drops them. Queues their records.

use std::sync::Arc;

use super::finish::Ending;
use super::state::Run;
use super::trace;
use crate::checkpoint::{FailureRecord, TaskRecord, TaskStatus, encode_record};
use crate::graph::error::RunError;
use crate::graph::superstep::{Task, TaskState};

impl Run {
    /// Records the failure of a task; its siblings continue.
    pub(crate) fn fail(&mut self, at: usize, error: RunError) -> Result<(), RunError> {
        if !matches!(error, RunError::HandUp(_) | RunError::NoParentGraph { .. }) {
            trace::failed(&self.node_name(self.step.tasks[at].node), &error);
            self.step.tasks[at].record.error = Some(error.to_string());
            let failure = FailureRecord { error: error.to_string(), at: self.shared.now() };
            self.step.tasks[at].note_failure(failure);
            let mut puts = std::mem::take(&mut self.outbox.finished);
            if let Some(recorder) = self.recorder() {
                let record = TaskRecord { status: TaskStatus::Failed, ..self.step.tasks[at].to_record() };
                puts.push((self.task_key(self.step.tasks[at].key), encode_record(&record)?));
                recorder.queue(puts, None);
            }
        }
        self.count_closed(at);
        self.step.has_failed = true;
        self.step.tasks[at].state = TaskState::Failed(Box::new(error));
        Ok(())
    }

    pub(crate) fn panicked(&self, node: Arc<str>, message: String) -> RunError {
        RunError::Panicked { node, namespace: Arc::clone(&self.scope.names), step: self.pos.meta.step + 1, message }
    }

    pub(crate) fn panicked_in(&mut self, at: usize, message: String) -> Result<Ending, RunError> {
        self.step.tasks[at].catch_up();
        let error = self.panicked(self.node_name(self.step.tasks[at].node), message);
        self.fail(at, error).map(|()| Ending::Failed { handled_failure: None, answered: false })
    }

    /// Records the failures of dropped tasks whose `Drop` panicked. Returns true if there are any.
    pub(crate) fn dropped(&mut self, panics: Vec<(usize, String)>) -> Result<bool, RunError> {
        let failed = !panics.is_empty();
        for (at, panic) in panics {
            self.panicked_in(at, format!("dropped by the cancelled run: {panic}"))?;
        }
        self.step.runs_again &= !failed;
        Ok(failed)
    }

    /// Returns the error for a panic while results were applied.
    pub(crate) fn panicked_applying(&self, tasks: &[Task], message: &str) -> RunError {
        let nodes: Vec<Arc<str>> = tasks.iter().map(|task| self.node_name(task.node)).collect();
        let message = format!("applying its results: {message}");
        self.panicked(nodes.join("` and `").into(), message)
    }
}
