//! Signals that reach the tasks of a run.

use std::collections::BTreeMap;

use super::state::Run;
use crate::checkpoint::ReceiveRecord;
use crate::graph::context::receive::counted;
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::Journal;
use crate::graph::state::State;
use crate::graph::superstep::{Stand, Task};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Run<S, N, C> {
    /// The signals that tasks wait for.
    pub(crate) fn receives(&self) -> impl Iterator<Item = &ReceiveRecord> {
        self.step
            .tasks
            .iter()
            .filter(|task| matches!(task.stand, Stand::Asked { .. }))
            .flat_map(|task| &task.record.receives)
    }

    /// Lets tasks run again whose signals have come, as many as there are signals, or were received before a crash; returns
    /// whether there are any.
    pub(crate) async fn wake_signalled(&mut self) -> Result<bool, RunError> {
        if self.receives().next().is_none() {
            return Ok(false);
        }
        let Some(recorder) = self.shared.recorder.clone() else { return Ok(false) };
        let letters = recorder.letters().await?;
        let mut left = counted(&letters);
        let mut woken = false;
        for task in &mut self.step.tasks {
            let journal = self.level.journal.journal.as_ref().or(task.journal.as_ref()).cloned();
            woken |= wake(task, journal.as_deref(), &mut left);
        }
        Ok(woken)
    }
}

/// Lets a task run again if there is a signal that it waits for.
fn wake<S: State>(task: &mut Task<S>, journal: Option<&Journal>, left: &mut BTreeMap<&str, usize>) -> bool {
    let Stand::Asked { fresh, .. } = &mut task.stand else { return false };
    let mut came = false;
    for awaited in &task.record.receives {
        if journal.is_some_and(|journal| journal.has(&awaited.entry)) {
            came = true;
        } else if let Some(count) = left.get_mut(awaited.name.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            came = true;
        }
    }
    *fresh |= came;
    task.again |= came;
    came
}
