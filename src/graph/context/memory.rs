//! The long-term store of a run: that of its graph, or the one over its checkpointer. Knows no task.
//!
//! Small because the store itself is in another room.

use std::sync::{Arc, OnceLock};

use crate::graph::error::RunError;
use crate::graph::records::Recorder;
use crate::memory::{CheckpointerStore, Store};

/// The long-term store of a run.
#[derive(Default)]
pub(crate) struct LongTermMemory {
    set: Option<Arc<dyn Store>>,
    /// The one over the checkpointer, once a node has used it.
    made: OnceLock<Arc<dyn Store>>,
}

impl LongTermMemory {
    /// Returns the store that was set for the graph, if any.
    pub(crate) fn of(set: Option<&Arc<dyn Store>>) -> Self {
        Self { set: set.cloned(), made: OnceLock::new() }
    }

    /// Returns the store; it is made now if none was set.
    pub(super) fn get(&self, recorder: Option<&Recorder>) -> Result<&Arc<dyn Store>, RunError> {
        if let Some(known) = self.set.as_ref().or_else(|| self.made.get()) {
            return Ok(known);
        }
        let recorder = recorder.ok_or(RunError::NoCheckpointer { what: "`ctx.store()`" })?;
        Ok(self.made.get_or_init(|| Arc::new(CheckpointerStore::new(Arc::clone(recorder.store())))))
    }
}
