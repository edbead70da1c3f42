//! Names: threads, checkpoint numbers, positions of values, and the keys of records within a thread. Stores scan
//! records in the order of their keys. Knows nothing of what is stored.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep_base::Printable;

/// Name of a thread: any text, compared byte by byte. LangGraph: `thread_id`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(Arc<str>);

impl ThreadId {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for ThreadId {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

impl Borrow<str> for ThreadId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Number of a checkpoint: unique within its thread (subgraphs included) and growing with every checkpoint, independent
/// of the wall clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct CheckpointId(pub u64);

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Position of a stored value, written by a task of the superstep that starts at `checkpoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RowId {
    /// Checkpoint whose superstep made the value.
    pub checkpoint: CheckpointId,
    /// Index of the task in canonical order, or [`RowId::REDUCED`].
    pub task: u32,
    /// Index among the values of this task.
    pub slot: u32,
}

impl RowId {
    /// Task of values encoded after a reduce: they belong to the superstep as a whole; the slot is the channel.
    pub const REDUCED: u32 = u32::MAX;
    /// Task of full values that were re-encoded when a thread moved to another graph or version; the slot is the
    /// channel.
    pub const WHOLE: u32 = u32::MAX - 1;
    /// First slot of send payloads; slots of writes count from zero.
    pub const SENDS: u32 = 1 << 30;
    /// First slot of interrupt payloads.
    pub const QUESTIONS: u32 = 2 << 30;
    /// First slot of resume values.
    pub const ANSWERS: u32 = 3 << 30;

    /// Returns the position after this one.
    pub(crate) fn after(self) -> Self {
        let Self { checkpoint, task, slot } = self;
        match (task, slot) {
            (u32::MAX, u32::MAX) => Self { checkpoint: CheckpointId(checkpoint.0.saturating_add(1)), task: 0, slot: 0 },
            (task, u32::MAX) => Self { checkpoint, task: task + 1, slot: 0 },
            (task, slot) => Self { checkpoint, task, slot: slot + 1 },
        }
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.checkpoint, self.task, self.slot)
    }
}

/// Key of a record within a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Head of the thread; one per thread.
    Head,
    /// Properties of the thread as a whole: its graph, its origin.
    About,
    /// Tag that a person gave to a checkpoint, so that it is kept.
    Tag(String),
    /// Names of channels and nodes of one version of a graph, by fingerprint.
    Shape(u64),
    /// A checkpoint of the root graph.
    Checkpoint(CheckpointId),
    /// A checkpoint of a subgraph.
    Nested(CheckpointId),
    /// Result of one task of the superstep that starts at a checkpoint.
    Task {
        /// Checkpoint that planned the task.
        checkpoint: CheckpointId,
        /// Index of the task in canonical order.
        task: u32,
    },
    /// Newest checkpoint of the subgraph that a task runs; the parent points at its child.
    Child {
        /// Checkpoint that planned the parent's task.
        checkpoint: CheckpointId,
        /// Index of the task in canonical order.
        task: u32,
        /// Index of the subgraph call within the task.
        call: u32,
    },
    /// A stored value.
    Row(RowId),
    /// One entry of a channel that is stored as a log. Entries of one channel are adjacent, oldest first.
    Log {
        /// Name of the channel.
        channel: String,
        /// Position of the entry.
        row: RowId,
    },
    /// One entry of a task's journal: an effect, a recorded value, a time. Tasks of its subgraphs share the journal.
    Effect {
        /// Checkpoint of the root graph that planned the task.
        checkpoint: CheckpointId,
        /// Index of the task in canonical order.
        task: u32,
        /// Position of the task within subgraphs, the kind of entry, and its own key.
        key: String,
    },
    /// An event recorded in the superstep that starts at a checkpoint of the root graph.
    Event {
        /// That checkpoint.
        checkpoint: CheckpointId,
        /// Index of the event within the superstep.
        number: u64,
    },
    /// A signal in the thread's mailbox that no task has received yet. Since format 3.
    Signal {
        /// Grows with the time of sending; signals sent at the same moment may share it.
        order: u64,
        /// Random id drawn when it was sent.
        id: u64,
    },
}

impl Key {
    /// Returns the checkpoint that a record belongs to; `None` for a record of the thread as a whole.
    pub(super) fn checkpoint(&self) -> Option<CheckpointId> {
        match self {
            Self::Checkpoint(id) | Self::Nested(id) => Some(*id),
            Self::Task { checkpoint, .. } | Self::Child { checkpoint, .. } => Some(*checkpoint),
            Self::Effect { checkpoint, .. } | Self::Event { checkpoint, .. } => Some(*checkpoint),
            Self::Row(row) | Self::Log { row, .. } => Some(row.checkpoint),
            Self::Head | Self::About | Self::Tag(_) | Self::Shape(_) | Self::Signal { .. } => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("head"),
            Self::About => f.write_str("record about the thread"),
            Self::Tag(name) => write!(f, "tag `{}`", Printable(name)),
            Self::Shape(fingerprint) => write!(f, "shape {fingerprint:016x}"),
            Self::Checkpoint(id) => write!(f, "checkpoint {id:?}"),
            Self::Nested(id) => write!(f, "nested checkpoint {id:?}"),
            Self::Task { checkpoint, task } => write!(f, "task {task} of checkpoint {checkpoint:?}"),
            Self::Child { checkpoint, task, call } => write!(f, "child {task}/{call} of checkpoint {checkpoint:?}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Log { channel, row } => match chunked_log(channel) {
                Some(log) => write!(f, "chunk of log entries up to {row} of {}", LogName(log)),
                None => write!(f, "log entry {row} of {}", LogName(channel)),
            },
            Self::Effect { checkpoint, task, key } => {
                write!(f, "effect `{}` of task {task} of checkpoint {checkpoint:?}", Printable(key))
            }
            Self::Event { checkpoint, number } => write!(f, "event {number} of checkpoint {checkpoint:?}"),
            Self::Signal { order, id } => write!(f, "signal {}", signal_name(*order, *id)),
        }
    }
}

/// A log as people read it: its channel, and the subgraph it is in.
struct LogName<'a>(&'a str);

impl fmt::Display for LogName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_once('\0') {
            Some((path, channel)) => {
                write!(f, "channel `{}` of the subgraph `{}`", Printable(channel), Printable(path))
            }
            None => write!(f, "channel `{}`", Printable(self.0)),
        }
    }
}

/// Name of an item. Items are ordered by namespace, then by key, byte by byte. LangGraph: `namespace` and `key` of an `Item`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemKey {
    /// The items that belong together: up to [`ItemKey::MAX_NAMESPACE`] bytes.
    pub namespace: Arc<str>,
    /// The item among them: up to [`ItemKey::MAX_KEY`] bytes.
    pub key: Arc<str>,
}

impl ItemKey {
    /// Longest namespace, in bytes.
    pub const MAX_NAMESPACE: usize = 255;
    /// Longest key, in bytes.
    pub const MAX_KEY: usize = 2000;

    /// Returns the name of the item `key` of a namespace.
    pub fn new(namespace: impl Into<Arc<str>>, key: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), key: key.into() }
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item `{}` of `{}`", Printable(&self.key), Printable(&self.namespace))
    }
}

/// Direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Greatest key first.
    Descending,
}

/// First character of the names of logs of chunks; no channel's name starts with it.
const CHUNKS: char = '\0';

/// Returns the name of the log of chunks of a log.
pub(super) fn chunk_log(log: &str) -> String {
    format!("{CHUNKS}{log}")
}

/// Returns the log whose log of chunks has this name.
pub(super) fn chunked_log(name: &str) -> Option<&str> {
    name.strip_prefix(CHUNKS)
}

/// Order of the records of senders' keys: after all signals, whose order is a time.
pub(crate) const KEYED: u64 = 1 << 60;

/// Order of posted answers: after all signals, before the keys.
pub(crate) const POSTED_ANSWERS: u64 = KEYED - 1;

/// Returns the name of a signal as people write it: its key as text.
pub(crate) fn signal_name(order: u64, id: u64) -> String {
    format!("{order:x}-{id:016x}")
}
