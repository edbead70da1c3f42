//! Signals that reach the tasks of a run.

use super::state::Run;
use crate::checkpoint::ReceiveRecord;
use crate::graph::error::RunError;
use crate::graph::records::{Journal, PendingSignal};
use crate::graph::superstep::{Task, TaskState};

impl Run {
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
}

/// Wakes a task if a signal that it waits for is left.
fn wake(task: &mut Task, journal: Option<&Journal>, left: &mut Vec<&PendingSignal>) -> bool {
    let TaskState::Asked { fresh, .. } = &mut task.state else { return false };
    let mut arrived = false;
    for awaited in &task.record.receives {
        if journal.is_some_and(|journal| journal.has(&awaited.entry)) {
            arrived = true;
        } else if let Some(at) = left.iter().position(|pending| pending.is_awaited(awaited)) {
            left.remove(at);
            arrived = true;
        }
    }
    *fresh |= arrived;
    task.again |= arrived;
    arrived
}
