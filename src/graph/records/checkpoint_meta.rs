//! The header of a checkpoint.

use crate::checkpoint::{CheckpointId, Source};

/// The header of a checkpoint: its place in the thread, its cause and its time.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointMeta {
    pub id: CheckpointId,
    /// The checkpoint before; none for the first of a thread.
    pub parent: Option<CheckpointId>,
    pub source: Source,
    /// Counts along the parent chain, from -1 for the first input.
    pub step: i64,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// The user's key-value pairs.
    pub metadata: Vec<(String, String)>,
}
