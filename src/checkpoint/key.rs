//! Where a record stands inside its thread. The order of keys is the order in which a store scans them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::CheckpointId;

/// The place of one stored value: written by a task of the superstep that starts at `checkpoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RowId {
    /// The checkpoint whose superstep made the value.
    pub checkpoint: CheckpointId,
    /// The task's place in canonical order, or [`RowId::REDUCED`].
    pub task: u32,
    /// The place among the values of this task.
    pub slot: u32,
}

impl RowId {
    /// In place of a task: values encoded after a reduce belong to the superstep as a whole; the slot is the channel.
    pub const REDUCED: u32 = u32::MAX;
    /// In place of a task: whole values encoded anew when a thread moves on to another graph or version; the slot is the
    /// channel.
    pub const WHOLE: u32 = u32::MAX - 1;
    /// First slot of send payloads; writes count from zero.
    pub const SENDS: u32 = 1 << 30;
    /// First slot of questions.
    pub const QUESTIONS: u32 = 2 << 30;
    /// First slot of answers.
    pub const ANSWERS: u32 = 3 << 30;
}

/// The key of one record within a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The head of the thread; one per thread.
    Head,
    /// What the thread as a whole is: its graph, where it came from.
    About,
    /// A name that a person gave to a checkpoint, so that it is kept.
    Tag(String),
    /// Names of channels and nodes of one version of a graph, by fingerprint.
    Shape(u64),
    /// A checkpoint of the root graph.
    Checkpoint(CheckpointId),
    /// A checkpoint of a subgraph.
    Nested(CheckpointId),
    /// What became of one task of the superstep that starts at a checkpoint.
    Task {
        /// The checkpoint that planned the task.
        checkpoint: CheckpointId,
        /// The task's place in canonical order.
        task: u32,
    },
    /// The newest checkpoint of the subgraph that a task runs (V10: the parent points at its child).
    Child {
        /// The checkpoint that planned the parent's task.
        checkpoint: CheckpointId,
        /// The task's place in canonical order.
        task: u32,
        /// The how-manieth subgraph call of the task.
        call: u32,
    },
    /// A stored value.
    Row(RowId),
    /// One entry of a channel that is kept as a log: entries of one channel stand together, oldest first.
    Log {
        /// The channel's name.
        channel: String,
        /// The entry's place.
        row: RowId,
    },
    /// One entry of a task's journal: an effect, a recorded value, a time. Tasks of its subgraphs share it.
    Effect {
        /// The checkpoint of the root graph that planned the task.
        checkpoint: CheckpointId,
        /// The task's place in canonical order.
        task: u32,
        /// The place of the task within subgraphs, the kind of entry, and its own key.
        key: String,
    },
    /// An event that was recorded in the superstep that starts at a checkpoint of the root graph.
    Event {
        /// That checkpoint.
        checkpoint: CheckpointId,
        /// Counts the events of the superstep.
        number: u64,
    },
    /// A signal in the thread's mailbox: sent, and received by no task yet. Since format 3.
    Signal {
        /// A later one was sent later; one sent at the same moment may have the same.
        order: u64,
        /// Drawn when it was sent.
        id: u64,
    },
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("head"),
            Self::About => f.write_str("record about the thread"),
            Self::Tag(name) => write!(f, "tag `{name}`"),
            Self::Shape(fingerprint) => write!(f, "shape {fingerprint:016x}"),
            Self::Checkpoint(id) => write!(f, "checkpoint {id:?}"),
            Self::Nested(id) => write!(f, "nested checkpoint {id:?}"),
            Self::Task { checkpoint, task } => write!(f, "task {task} of checkpoint {checkpoint:?}"),
            Self::Child { checkpoint, task, call } => write!(f, "child {task}/{call} of checkpoint {checkpoint:?}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Log { channel, row } => write!(f, "log entry {row} of channel `{channel}`"),
            Self::Effect { checkpoint, task, key } => {
                write!(f, "effect `{key}` of task {task} of checkpoint {checkpoint:?}")
            }
            Self::Event { checkpoint, number } => write!(f, "event {number} of checkpoint {checkpoint:?}"),
            Self::Signal { order, id } => write!(f, "signal {}", signal_name(*order, *id)),
        }
    }
}

/// What people call a signal by: its key as text.
pub(crate) fn signal_name(order: u64, id: u64) -> String {
    format!("{order:x}-{id:016x}")
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.checkpoint, self.task, self.slot)
    }
}
