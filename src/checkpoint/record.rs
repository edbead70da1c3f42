//! What is stored: fixed types of the engine's own, in indexes of a [`Shape`]. User values are rows of bytes beside them.
//!
//! All fields exist from the first release on; those marked reserved are filled by later ones.

use serde::{Deserialize, Serialize};

use super::id::CheckpointId;
use super::key::RowId;
use super::wait_record::{ReceiveRecord, TermsRecord, VoteRecord};

/// The names behind the indexes of records: one version of a graph. Stored once per thread, under its fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Channels in the order of their indexes.
    pub channels: Vec<ChannelShape>,
    /// Nodes in the order of their indexes, which is the order of their names.
    pub nodes: Vec<String>,
    /// Joins in the order of their indexes: sources and target.
    pub joins: Vec<(Vec<u32>, u32)>,
    /// The version that the graph was given by hand.
    pub version: u32,
    /// What the graph says of its earlier versions: the names that channels and nodes had, and those that are gone.
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
    /// Whether its values are never shown and never leave the store.
    pub secret: bool,
    /// The name of the rule by which writes meet.
    pub rule: String,
    /// Whether its writes, those aside that replace the value, are entries of a log.
    pub logged: bool,
}

/// A stored channel that no channel of the graph claims: it is kept as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedRecord {
    /// The channel as it was.
    pub channel: ChannelShape,
    /// The name of the log that its entries are in.
    pub log: String,
    /// Where its value stands.
    pub slot: Slot,
}

/// What a thread as a whole is. Written with its first checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutRecord {
    /// The graph's name.
    pub graph: String,
    /// When the thread was first written, in milliseconds since 1970.
    pub created_at: u64,
    /// Where the thread was imported from, if it was not made in this store.
    pub foreign: Option<ForeignRecord>,
    /// Where its runs stop, unless a handle says otherwise. Since format 4.
    pub stops: Vec<StopRecord>,
}

/// A place where the runs of a thread stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRecord {
    /// The node; none: every superstep.
    pub node: Option<String>,
    /// Whether they stop after it, not before.
    pub after: bool,
}

/// A thread that was made elsewhere: it may be read and compared, but not run, until a person trusts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignRecord {
    /// When it was imported, in milliseconds since 1970.
    pub imported_at: u64,
    /// Whether a person trusts it, so that it may be run.
    pub trusted: bool,
}

/// A name that a person gave to a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagRecord {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// When it was given, in milliseconds since 1970.
    pub at: u64,
}

/// Why a checkpoint was made. LangGraph: `metadata.source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A run began with new input.
    Input,
    /// A superstep ended.
    Loop,
    /// Somebody wrote the state from outside.
    Update,
    /// A new branch began at an older checkpoint.
    Fork,
}

impl Source {
    /// Returns LangGraph's word for it, as JSON and text show it: `input`, `loop`, `update`, `fork`.
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
    /// The checkpoint it followed.
    pub parent: Option<CheckpointId>,
    /// The subgraph it belongs to: empty for the root graph.
    pub namespace: String,
    /// Why it was made.
    pub source: Source,
    /// Counts along the parent chain, from -1 for the first input.
    pub step: i64,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// Names the [`Shape`] of all indexes: the graph's fingerprint.
    pub shape: u64,
    /// The epoch of the lease it was made under.
    pub epoch: u64,
    /// From this checkpoint on, numbers belong to this one line, so log ranges may be joined.
    pub line: CheckpointId,
    /// What is to run next.
    pub control: ControlRecord,
    /// The checkpoint whose map of channels `channels` changes; none if `channels` is complete.
    pub base: Option<CheckpointId>,
    /// Where each channel's value stands.
    pub channels: Vec<(u32, Slot)>,
    /// What is stored of channels that this version of the graph does not have, complete. Their indexes follow those of the
    /// shape.
    pub carried: Vec<CarriedRecord>,
    /// The newest checkpoint of each subgraph that keeps its own state, by node.
    pub children: Vec<(String, CheckpointId)>,
    /// Words of the user's.
    pub metadata: Vec<(String, String)>,
    /// Reserved: kinds of journals kept for this superstep.
    pub journals: Vec<u8>,
}

/// Where a channel's value stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// It has none.
    #[default]
    Absent,
    /// In one row.
    Row(RowId),
    /// In a log: an optional full value, then entries.
    Log {
        /// The value before the entries.
        full: Option<RowId>,
        /// The size of that value in bytes.
        full_bytes: u64,
        /// Entries in order.
        ranges: Vec<LogRange>,
    },
}

/// Consecutive entries of a log channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRange {
    /// The first entry.
    pub first: RowId,
    /// The last entry.
    pub last: RowId,
    /// How many entries there are; a different count found is damage.
    pub count: u32,
    /// Their size in bytes.
    pub bytes: u64,
}

/// What is to run next, and what waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRecord {
    /// Counts the changes of any channel. LangGraph: the greatest channel version.
    pub version: u64,
    /// START waits with this input.
    pub start: Option<Vec<WriteRecord>>,
    /// Nodes that an edge has triggered, and at which version.
    pub ready: Vec<(u32, u64)>,
    /// Deferred nodes that were triggered: node, version, and whether the run has gone quiet since.
    pub deferred: Vec<(u32, u64, bool)>,
    /// Joins where something has arrived.
    pub joins: Vec<(u32, JoinRecord)>,
    /// Sends that wait to run.
    pub sends: Vec<SendRecord>,
    /// The node that ran last: its version, the node, and whether another shares the version.
    pub last_ran: Option<(u64, u32, bool)>,
}

/// A half-filled or complete join.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRecord {
    /// Which sources have arrived, as bits.
    pub arrived: Vec<u64>,
    /// When something arrived last.
    pub version: u64,
    /// For a deferred target: whether the run has gone quiet since it was complete. For another: whether the target had
    /// run in the superstep of the last arrival.
    pub finished: bool,
}

/// A send that waits to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRecord {
    /// The worker.
    pub node: u32,
    /// Where its payload stands.
    pub payload: RowId,
}

/// One write of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// The channel.
    pub channel: u32,
    /// Whether it replaces the value of a reduced channel.
    pub overwrite: bool,
    /// Where its value stands: a log entry if the channel is kept as a log, else a row; none if it is never saved.
    pub row: Option<RowId>,
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskStatus {
    /// Planned, not ended.
    #[default]
    Pending,
    /// Ended with a result.
    Done,
    /// Waits for a person.
    Interrupted,
    /// Waits for a time or a signal, and for no answer.
    Waiting,
    /// Failed.
    Failed,
}

/// What became of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// How far it has come.
    pub status: TaskStatus,
    /// What it wrote.
    pub writes: Vec<WriteRecord>,
    /// The nodes it triggered by routers and goto; its plain edges are the graph's.
    pub targets: Vec<u32>,
    /// The sends it made.
    pub sends: Vec<SendRecord>,
    /// How many of the targets, and of the sends, its body chose itself; routers chose the rest.
    pub chosen: (u32, u32),
    /// Whether its result was taken from the cache.
    pub cached: bool,
    /// The questions it asked when it ran last.
    pub questions: Vec<QuestionRecord>,
    /// The answers it has got, in the order of its questions.
    pub answers: Vec<AnswerRecord>,
    /// Why it failed.
    pub error: Option<String>,
    /// Since when its error handler runs in its place, if it does.
    pub handled: Option<HandledRecord>,
    /// The number of the first subgraph that its last attempt called: earlier attempts had those before.
    pub first_call: u32,
    /// How often it was started.
    pub attempts: u32,
    /// Which attempt of its run was the last, from 1.
    pub attempt: u32,
    /// What its subgraphs with state of their own ended at.
    pub children: Vec<(String, CheckpointId)>,
    /// How many entries its journal holds.
    pub effects: u32,
    /// When it goes on by itself, in milliseconds since 1970.
    pub wake: Option<u64>,
    /// How its attempts failed, oldest first.
    pub failures: Vec<FailureRecord>,
    /// Where the payloads of answered questions are, by the places of the questions. Since format 2.
    pub payloads: Vec<(u32, RowId)>,
    /// The signals that it waits for, those of its subgraphs included. Since format 3.
    pub receives: Vec<ReceiveRecord>,
    /// Which attempts failed, from 1, of the last failures. Since format 3.
    pub failed: Vec<u32>,
    /// The terms of its questions that have any. Since format 4.
    pub terms: Vec<TermsRecord>,
    /// Answers to questions that need several. Since format 4.
    pub votes: Vec<VoteRecord>,
}

/// A failed attempt of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Why it failed.
    pub error: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// Where an error handler took over from a node's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandledRecord {
    /// Why the body failed.
    pub error: String,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// The checkpoint of the task that asked, in the innermost subgraph.
    pub checkpoint: CheckpointId,
    /// The task that asked.
    pub task: u32,
    /// Its place among all questions of that task.
    pub place: u32,
    /// Who asks by these places: empty for the task's body, else its error handler or a task of a subgraph that is not kept;
    /// none if they are those of a task in a subgraph that is kept.
    pub asker: Option<String>,
    /// The question type's name.
    pub name: String,
    /// Where the question's payload stands.
    pub payload: RowId,
    /// The node that asked.
    pub node: String,
    /// The nodes whose subgraphs the asking node is in, outermost first.
    pub namespace: Vec<String>,
    /// Whether it is open no more: it has been answered, or the subgraph that asked it was moved by hand.
    pub answered: bool,
}

/// An answer from a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The place of the question it answers.
    pub place: u32,
    /// Who asked.
    pub asker: String,
    /// The name of that question.
    pub name: String,
    /// Where the answer's value stands.
    pub value: RowId,
    /// Who answered.
    pub by: Option<String>,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What they noted.
    pub note: Option<String>,
}
