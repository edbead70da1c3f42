//! Reserved task keys, slots and numbers in records.
//!
//! Small because most readers of records use it.

use crate::checkpoint::{CheckpointId, ControlRecord, GotoRecord};

/// The prefix of the name of a node's error handler.
pub(crate) const HANDLER: &str = "__error_handler__";

/// The key of a recorded half of an id.
pub(crate) const HALF_ID: &str = "id";

/// Returns the UUID, version 4, that two numbers make.
pub(crate) fn uuid(high: u64, low: u64) -> String {
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
    let (d, e) = ((low >> 48) & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-4{c:03x}-{d:04x}-{e:012x}")
}

/// Marks a position whose next checkpoint begins a new line: other branches may have used the numbers between.
pub(crate) const NEW_LINE: CheckpointId = CheckpointId(u64::MAX);

/// The calls of an error handler are pointed at from here on: it shares its body's task, but no subgraph.
pub(crate) const BY_HANDLER: u32 = 1 << 31;

/// The index of the virtual first node.
pub(crate) const START_NODE: u32 = ControlRecord::START;
/// The name of START.
pub(crate) const START_NAME: &str = "__start__";

/// First key of tasks that sends started; edge tasks have their node's index. Keys stay when tasks are added.
pub(crate) const SENT: u32 = 1 << 24;

/// The key of START's task.
pub(crate) const START_KEY: u32 = SENT - 1;

/// The key of what a command from outside did.
pub(crate) const COMMAND_KEY: u32 = GotoRecord::CALLER;

/// The key of what was written from outside to make a checkpoint of a subgraph.
pub(crate) const UPDATE_KEY: u32 = SENT * 3;
