//! The header of a checkpoint.

use crate::checkpoint::{CheckpointId, CheckpointRecord, Source};

/// A checkpoint without its state.
#[derive(Clone, Debug)]
pub struct CheckpointInfo {
    /// Its number.
    pub id: CheckpointId,
    /// The checkpoint it followed.
    pub parent: Option<CheckpointId>,
    /// The cause of the checkpoint.
    pub source: Source,
    /// Counts along the parent chain, from -1.
    pub step: i64,
    /// The time at which it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// The user's key-value pairs: [`Thread::metadata`](crate::graph::Thread::metadata).
    pub metadata: Vec<(String, String)>,
}

impl CheckpointInfo {
    /// Returns the header of a stored checkpoint.
    pub(crate) fn of(id: CheckpointId, record: &CheckpointRecord) -> Self {
        let CheckpointRecord { parent, source, step, created_at, .. } = *record;
        Self { id, parent, source, step, created_at, metadata: record.metadata.clone() }
    }
}
