//! Stored records: types of the engine that refer to names by their index in a [`Shape`]. User values are stored beside
//! them as rows of bytes.
//!
//! All fields exist from the first release on; those marked reserved are filled by later ones.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::id::CheckpointId;
use super::key::RowId;
use super::wait_record::{ReceiveRecord, TermsRecord, VoteRecord};

/// Names behind the indexes of records, for one version of a graph. Stored once per thread, under its fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Channels in the order of their indexes.
    pub channels: Vec<ChannelShape>,
    /// Nodes in the order of their indexes, which is the order of their names.
    pub nodes: Vec<String>,
    /// Joins in the order of their indexes: sources and target.
    pub joins: Vec<(Vec<u32>, u32)>,
    /// Version that the graph declares.
    pub version: u32,
    /// Earlier versions as the graph declares them: former names of channels and nodes, and removed ones.
    pub past: Vec<String>,
}

/// One channel of a [`Shape`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelShape {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub type_name: String,
    /// The version of its schema.
    pub version: u32,
    /// Set for channels whose values are never shown and never leave the store.
    pub secret: bool,
    /// Name of the reducer.
    pub rule: String,
    /// Set if writes, apart from overwrites, are entries of a log.
    pub logged: bool,
}

/// Stored channel that this version of the graph does not declare; kept unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// The channel as it was declared.
    pub channel: ChannelShape,
    /// Name of the log that holds its entries.
    pub log: String,
    /// Location of its value.
    pub slot: Slot,
}

/// Properties of a thread as a whole. Written with its first checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutRecord {
    /// Name of the graph.
    pub graph: String,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at: u64,
    /// Origin, if the thread was imported.
    pub foreign: Option<ForeignRecord>,
    /// Breakpoints of its runs, unless the caller sets others. Since format 4.
    pub stops: Vec<StopRecord>,
}

/// A breakpoint of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRecord {
    /// Node; `None`: every superstep.
    pub node: Option<String>,
    /// Set if runs stop after the node, not before it.
    pub after: bool,
}

/// Origin of an imported thread: it may be read and compared, but not run until a person trusts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignRecord {
    /// Time of the import, in milliseconds since 1970.
    pub imported_at: u64,
    /// Set once a person trusts it, so that it may be run.
    pub trusted: bool,
}

/// Tag that a person gave to a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagRecord {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Time of tagging, in milliseconds since 1970.
    pub at: u64,
}

/// Reason for a checkpoint. LangGraph: `metadata.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A run started with new input.
    Input,
    /// A superstep ended.
    Loop,
    /// `update_state` wrote the state.
    Update,
    /// A branch started at an older checkpoint.
    Fork,
}

impl Source {
    /// Returns LangGraph's word for it, as used in JSON and text: `input`, `loop`, `update`, `fork`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Loop => "loop",
            Self::Update => "update",
            Self::Fork => "fork",
        }
    }
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRecord {
    /// Checkpoint that it follows.
    pub parent: Option<CheckpointId>,
    /// Subgraph that it belongs to; empty for the root graph.
    pub namespace: String,
    /// Reason for it.
    pub source: Source,
    /// Position in the parent chain; -1 for the first input.
    pub step: i64,
    /// Time of creation, in milliseconds since 1970.
    pub created_at: u64,
    /// Fingerprint of the [`Shape`] of all indexes.
    pub shape: u64,
    /// Epoch of the lease under which it was made.
    pub epoch: u64,
    /// First checkpoint of its branch: from here on no other branch has numbers in between, so log ranges may be
    /// merged.
    pub line: CheckpointId,
    /// Scheduling state: what runs next.
    pub control: ControlRecord,
    /// Checkpoint whose channel map is updated by `channels`; `None` if `channels` is complete.
    pub base: Option<CheckpointId>,
    /// Location of each channel's value.
    pub channels: Vec<(u32, Slot)>,
    /// Stored channels that this version of the graph does not declare, complete. Their indexes follow those of the
    /// shape.
    pub carried: Vec<CarriedRecord>,
    /// Newest checkpoint of each subgraph with persistent state of its own, by node.
    pub children: Vec<(String, CheckpointId)>,
    /// Metadata of the user.
    pub metadata: Vec<(String, String)>,
    /// Reserved: kinds of journals stored for this superstep.
    pub journals: Vec<u8>,
    /// The part of `control` that commands scheduled. Since format 5.
    pub gotos: Vec<GotoRecord>,
}

/// Pending nodes and sends that one command scheduled with its `goto`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GotoRecord {
    /// The node that returned the command, `u32::MAX` for START; [`Self::CALLER`] for a command given to a run.
    pub by: u32,
    /// The nodes it scheduled.
    pub nodes: Vec<u32>,
    /// The first of its sends in `control`, and their number.
    pub sends: (u32, u32),
}

impl GotoRecord {
    /// The caller of a run, who is no node.
    pub const CALLER: u32 = (1 << 24) - 2;
}

/// Location of a channel's value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSlot", into = "StoredSlot")]
pub enum Slot {
    /// No value.
    #[default]
    Absent,
    /// One row.
    Row(RowId),
    /// A log: an optional full value, then entries.
    Log {
        /// Value before the entries.
        full: Option<RowId>,
        /// Size of that value in bytes.
        full_bytes: u64,
        /// Entries in order.
        ranges: Vec<LogRange>,
    },
}

/// A [`Slot`] as it is stored.
#[derive(Serialize, Deserialize)]
enum StoredSlot {
    Absent,
    Row(RowId),
    Log {
        full: Option<RowId>,
        full_bytes: u64,
        ranges: Vec<LogRange>,
    },
    /// A log whose first entries are in those of enclosing graphs: namespaces, each with the number of its ranges. Since
    /// format 5.
    Shared {
        full: Option<RowId>,
        full_bytes: u64,
        ranges: Vec<LogRange>,
        logs: Vec<(Arc<str>, u32)>,
    },
}

impl From<Slot> for StoredSlot {
    fn from(slot: Slot) -> Self {
        match slot {
            Slot::Absent => Self::Absent,
            Slot::Row(row) => Self::Row(row),
            Slot::Log { full, full_bytes, ranges } => {
                let shared = ranges.iter().map_while(|range| range.log.clone());
                let mut logs: Vec<(Arc<str>, u32)> = vec![];
                for log in shared {
                    match logs.last_mut().filter(|(last, _)| *last == log) {
                        Some((_, count)) => *count += 1,
                        None => logs.push((log, 1)),
                    }
                }
                match logs.is_empty() {
                    true => Self::Log { full, full_bytes, ranges },
                    false => Self::Shared { full, full_bytes, ranges, logs },
                }
            }
        }
    }
}

impl From<StoredSlot> for Slot {
    fn from(stored: StoredSlot) -> Self {
        match stored {
            StoredSlot::Absent => Self::Absent,
            StoredSlot::Row(row) => Self::Row(row),
            StoredSlot::Log { full, full_bytes, ranges } => Self::Log { full, full_bytes, ranges },
            StoredSlot::Shared { full, full_bytes, mut ranges, logs } => {
                let logs = logs.into_iter().flat_map(|(log, count)| (0..count).map(move |_| log.clone()));
                ranges.iter_mut().zip(logs).for_each(|(range, log)| range.log = Some(log));
                Self::Log { full, full_bytes, ranges }
            }
        }
    }
}

/// Consecutive entries of a log channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRange {
    /// Namespace of the enclosing graph whose log holds them; `None`: they are in the channel's own. A subgraph over its
    /// parent's state begins with the parent's entries.
    #[serde(skip)]
    pub log: Option<Arc<str>>,
    /// First entry.
    pub first: RowId,
    /// Last entry.
    pub last: RowId,
    /// Number of entries; any other number found is damage.
    pub count: u32,
    /// Size of the entries in bytes.
    pub bytes: u64,
}

/// Scheduling state: nodes, joins and sends that are pending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRecord {
    /// Number of channel changes so far. LangGraph: the greatest channel version.
    pub version: u64,
    /// Pending input of START.
    pub start: Option<Vec<WriteRecord>>,
    /// Nodes triggered by an edge, with the version at which they were.
    pub ready: Vec<(u32, u64)>,
    /// Triggered deferred nodes: node, version, and whether nothing else has been left to run since.
    pub deferred: Vec<(u32, u64, bool)>,
    /// Joins with at least one arrival.
    pub joins: Vec<(u32, JoinRecord)>,
    /// Sends that have not run.
    pub sends: Vec<SendRecord>,
    /// The node that ran last: its version, the node, and whether another one has the same version.
    pub last_ran: Option<(u64, u32, bool)>,
}

/// A join with some or all of its arrivals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRecord {
    /// Bit set of the sources that have arrived.
    pub arrived: Vec<u64>,
    /// Version of the last arrival.
    pub version: u64,
    /// For a deferred target: set once nothing else was left to run after the join was complete. For any other: set if
    /// the target had run in the superstep of the last arrival.
    pub finished: bool,
}

/// A send that has not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRecord {
    /// The worker.
    pub node: u32,
    /// Location of its payload.
    pub payload: RowId,
}

/// One write of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// The channel.
    pub channel: u32,
    /// Set if it replaces the value of a reduced channel.
    pub overwrite: bool,
    /// Location of its value: a log entry if the channel is stored as a log, else a row; `None` if it is never stored.
    pub row: Option<RowId>,
}

/// Progress of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskStatus {
    /// Planned, not finished.
    #[default]
    Pending,
    /// Finished with a result.
    Done,
    /// Waits for a resume value.
    Interrupted,
    /// Waits for a time or a signal, and for no resume value.
    Waiting,
    /// Failed.
    Failed,
}

/// Result of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Progress.
    pub status: TaskStatus,
    /// Writes of the task.
    pub writes: Vec<WriteRecord>,
    /// Nodes triggered by routers and goto; plain edges are known from the graph.
    pub targets: Vec<u32>,
    /// Sends of the task.
    pub sends: Vec<SendRecord>,
    /// Numbers of targets and of sends that the body chose itself; routers chose the rest.
    pub chosen: (u32, u32),
    /// Set if the result was taken from the cache.
    pub cached: bool,
    /// Questions raised by the last attempt.
    pub questions: Vec<QuestionRecord>,
    /// Answers received, in the order of the questions.
    pub answers: Vec<AnswerRecord>,
    /// Reason of the failure.
    pub error: Option<String>,
    /// Set once the error handler runs in place of the body.
    pub handled: Option<HandledRecord>,
    /// Number of the first subgraph call of its last attempt; lower numbers belong to earlier attempts.
    pub first_call: u32,
    /// Number of starts.
    pub attempts: u32,
    /// Last attempt of its run, from 1.
    pub attempt: u32,
    /// Last checkpoints of its subgraphs with persistent state of their own.
    pub children: Vec<(String, CheckpointId)>,
    /// Number of entries in its journal.
    pub effects: u32,
    /// Time at which it resumes by itself, in milliseconds since 1970.
    pub wake: Option<u64>,
    /// Failures of its attempts, oldest first.
    pub failures: Vec<FailureRecord>,
    /// Locations of the payloads of answered questions, by index of the question. Since format 2.
    pub payloads: Vec<(u32, RowId)>,
    /// Signals that it waits for, those of its subgraphs included. Since format 3.
    pub receives: Vec<ReceiveRecord>,
    /// Numbers of the attempts of the last failures, from 1. Since format 3.
    pub failed: Vec<u32>,
    /// Terms of its questions, where set. Since format 4.
    pub terms: Vec<TermsRecord>,
    /// Answers to questions that require several. Since format 4.
    pub votes: Vec<VoteRecord>,
}

/// A failed attempt of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Reason of the failure.
    pub error: String,
    /// Time of the failure, in milliseconds since 1970.
    pub at: u64,
}

/// Start of an error handler in place of a node's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandledRecord {
    /// Reason why the body failed.
    pub error: String,
}

/// A question to a person (LangGraph: interrupt).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// Checkpoint of the task that raised it, in the innermost subgraph.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Its index among all questions of that task.
    pub place: u32,
    /// Namespace of `place`: empty for the task's body, else its error handler or a task of an unpersisted subgraph;
    /// `None` if the indexes are those of a task in a persisted subgraph.
    pub asker: Option<String>,
    /// Name of the question type.
    pub name: String,
    /// Location of the payload.
    pub payload: RowId,
    /// Node that raised it.
    pub node: String,
    /// Nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// Set once it is no longer pending: it was answered, or an external update moved the subgraph that raised it.
    pub answered: bool,
}

/// An answer from a person (LangGraph: resume value).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// Index of the answered question.
    pub place: u32,
    /// Namespace of `place`, as in [`QuestionRecord::asker`].
    pub asker: String,
    /// Name of the question type.
    pub name: String,
    /// Location of the answer's value.
    pub value: RowId,
    /// Name of the person who answered.
    pub by: Option<String>,
    /// Time of the answer, in milliseconds since 1970.
    pub at: u64,
    /// Note of that person.
    pub note: Option<String>,
}
