//! The task that called a subgraph, and the pointer to the subgraph's checkpoint in that task's record.

use crate::checkpoint::{CheckpointId, Key, encode_record};
use crate::graph::error::RunError;

/// The pointer of an enclosing task, as a record.
pub(crate) fn pointer(caller: Caller, to: CheckpointId) -> Result<(Key, Vec<u8>), RunError> {
    let key = Key::Child { checkpoint: caller.checkpoint, task: caller.task, call: caller.call };
    Ok((key, encode_record(&to)?))
}

/// The task of the enclosing graph that a subgraph runs in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub checkpoint: CheckpointId,
    pub task: u32,
    pub call: u32,
}
