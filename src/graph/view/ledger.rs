//! The places of a task's journal.

use std::sync::Weak;

use super::secrets::Secrets;
use super::task_journal::JournalQuestion;
use crate::checkpoint::{CheckpointId, Checkpointer, ThreadId};
use crate::graph::records::JournalPath;

/// The location of a task's journal.
#[derive(Clone)]
pub(crate) struct Ledger {
    /// A snapshot keeps no store open.
    pub store: Weak<dyn Checkpointer>,
    pub thread: ThreadId,
    pub birth: u64,
    pub task: LedgerTask,
    /// The checkpoint and key of the root graph's task that it is in.
    pub root: Option<(CheckpointId, u32)>,
    /// The paths of its entries, and of its error handler's, below the root graph's task.
    pub prefixes: Vec<JournalPath>,
    pub questions: Vec<JournalQuestion>,
    pub secrets: Secrets,
}

/// The task that a journal belongs to.
#[derive(Clone, Default)]
pub(crate) struct LedgerTask {
    /// The checkpoint that planned the task, and its key as it is stored.
    pub own: (CheckpointId, u32),
    /// The task as a namespace names it.
    pub place: String,
    /// The version of the graph's control when it was planned.
    pub version: u64,
    /// The name in journals: the node's first one.
    pub name: String,
    /// The index of its send.
    pub sent: Option<u32>,
}

/// The activation of a subgraph that a snapshot shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activation {
    /// The number of the call, from the first of the last attempt.
    pub call: u32,
    pub by_handler: bool,
    /// The version of the subgraph's control at which it began.
    pub base: u64,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("own", &self.task.own).field("root", &self.root).finish_non_exhaustive()
    }
}
