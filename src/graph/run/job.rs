//! Input of one task's execution.

use std::sync::Arc;

use super::attempt_records::AttemptRecords;
use crate::checkpoint::HandledRecord;
use crate::graph::build::Table;
use crate::graph::context::TaskCtx;
use crate::graph::state::{AnyState, Payload};

pub(crate) struct Job {
    pub table: Arc<Table>,
    pub state: AnyState,
    pub payload: Option<Arc<dyn Payload>>,
    pub ctx: Arc<TaskCtx>,
    /// First subgraph call of the last attempt in an earlier run.
    pub first_call: u32,
    /// The failure whose handler started in an earlier run: only the handler runs.
    pub handled: Option<HandledRecord>,
    /// Stores its failed attempts, if another one or a handler may follow.
    pub records: Option<AttemptRecords>,
    /// The time before which the first attempt does not start, in milliseconds since 1970.
    pub not_before: Option<u64>,
}
