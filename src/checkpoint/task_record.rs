//! Stored records of a task: its result, what it asks and waits for, the entries of its journal, and the events that it
//! emitted, in their first form too. Refers to names by their index in a [`Shape`](super::Shape); user values are stored
//! beside them as rows of bytes.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::checkpoint_record::{SendRecord, WriteRecord};
use super::codec::decode_record;
use super::error::CheckpointError;
use super::key::{CheckpointId, RowId, ThreadId};
use super::thread_record::SignalRecord;

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
    /// Times of its first start and of its last end, in milliseconds since 1970; empty for a task that ran alone, which has the times
    /// of its superstep. Since format 7.
    pub times: Vec<u64>,
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

/// Terms of a question, which is identified by checkpoint, task and place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsRecord {
    /// Checkpoint of the task that raised the question.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Index of the question.
    pub place: u32,
    /// Expiry, in milliseconds since 1970.
    pub expires: Option<u64>,
    /// Answer that applies after expiry, encoded like user values.
    pub default: Option<Vec<u8>>,
    /// Number of equal answers required.
    pub approvals: u32,
    /// Names of the people who may answer; empty: anybody.
    pub approvers: Vec<String>,
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

/// One of several answers that a question requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteRecord {
    /// Checkpoint of the task that raised the question.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Index of the question.
    pub place: u32,
    /// Name of the person who answered.
    pub by: String,
    /// Time of the answer, in milliseconds since 1970.
    pub at: u64,
    /// Note of that person.
    pub note: Option<String>,
    /// Answer, encoded like user values.
    pub value: Vec<u8>,
}

/// A signal that a task waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveRecord {
    /// Name of the signal's type.
    pub name: String,
    /// The node that waits.
    pub node: String,
    /// Nodes whose subgraphs that node is in, outermost first.
    pub namespace: Vec<String>,
    /// Time at which it stops waiting, in milliseconds since 1970.
    pub until: Option<u64>,
    /// Key of the journal entry of the root graph's task that will hold the signal.
    pub entry: String,
}

impl ReceiveRecord {
    /// Returns true if the task takes a signal.
    pub(crate) fn takes(&self, signal: &SignalRecord) -> bool {
        signal.is_for(&self.name, self.until)
    }
}

/// An entry of a task's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Kind of the entry.
    pub kind: EffectKind,
    /// Position in the order in which entries were added to the journal.
    pub order: u32,
    /// Hash of its arguments in canonical form.
    pub arguments: u64,
    /// Its arguments as readable text, cut to a limit.
    pub shown: String,
    /// Idempotency key that external services receive.
    pub idempotency: String,
    /// Result, encoded like user values.
    pub value: Vec<u8>,
    /// Time of recording, in milliseconds since 1970; for an effect, its start.
    pub at: u64,
    /// Runs of an effect, oldest first: the failed ones, then the one with the result. One for any other entry. Since
    /// format 3.
    pub runs: Vec<EffectRun>,
}

/// Kind of a journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectKind {
    /// A side effect: its result is on disk before it is used.
    Effect,
    /// A recorded value.
    Value,
    /// A time.
    Time,
    /// A random number.
    Random,
    /// Time until which a task sleeps.
    Sleep,
    /// Last failure of a side effect: the next attempt runs it again; a replay fails with it.
    Failure,
    /// A signal that was received, or that did not arrive in time. Since format 3.
    Signal,
}

impl EffectKind {
    pub(crate) const COUNT: usize = 7;
}

/// One run of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRun {
    /// Attempt of the task that it belongs to, from 1.
    pub attempt: u32,
    /// Time between its start and [`at`](EffectRecord::at) of its record, in milliseconds.
    pub before: u64,
    /// Duration in milliseconds.
    pub took: u64,
    /// Outcome.
    pub end: EffectEnd,
}

/// Outcome of a run of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectEnd {
    /// It returned the result.
    Done,
    /// The probe found that the effect had already happened.
    Found,
    /// It returned an error.
    Failed,
    /// Its attempt was dropped by a timeout or a cancellation: the effect may have happened.
    Dropped,
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Kind of the event.
    pub kind: EventRecordKind,
    /// Checkpoint, in the innermost persisted subgraph, of the task that emitted it.
    pub checkpoint: CheckpointId,
    /// Index of that task.
    pub task: u32,
    /// Tasks from the root down to the one that emitted it, each as `node:task`; older stores have node names only.
    pub path: Vec<String>,
    /// Superstep of the innermost subgraph.
    pub step: i64,
    /// The node.
    pub node: String,
    /// Value as JSON.
    pub value: String,
    /// Time of emission, in milliseconds since 1970.
    pub at: u64,
    /// Tags of the node.
    pub tags: Vec<String>,
    /// Keys of the effects in whose bodies it was emitted, outermost first. Since format 3.
    pub within: Vec<String>,
}

/// Kind of a recorded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventRecordKind {
    /// A value emitted by a node.
    Custom,
    /// A chunk of a message.
    Message,
}

/// First form of the record.
#[derive(Deserialize)]
struct EventRecordV1 {
    kind: EventRecordKind,
    checkpoint: CheckpointId,
    task: u32,
    namespace: Vec<String>,
    step: i64,
    node: String,
    value: String,
    at: u64,
}

impl From<EventRecordV1> for EventRecord {
    fn from(event: EventRecordV1) -> Self {
        let EventRecordV1 { kind, checkpoint, task, namespace: mut path, step, node, value, at } = event;
        path.push(node.clone());
        Self { kind, checkpoint, task, path, step, node, value, at, tags: vec![], within: vec![] }
    }
}

impl EventRecord {
    /// Decodes a record in this form or the first one.
    ///
    /// # Errors
    /// As [`decode_record`].
    pub fn decode(thread: &ThreadId, what: impl Display, bytes: &[u8]) -> Result<Self, CheckpointError> {
        // The first form first: an older record could also be decoded as the present form, without its tags.
        let first = decode_record::<EventRecordV1>(thread, &what, bytes).map(Into::into);
        first.or_else(|_| decode_record(thread, &what, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::encode_record;

    #[test]
    fn the_first_form_stays_readable() {
        let namespace = vec!["inner".to_owned()];
        let first = (EventRecordKind::Message, CheckpointId(3), 7_u32, namespace, 2_i64, "say", "\"hi\"", 9_u64);
        let mut stored = encode_record(&first).unwrap();
        stored[0] = 1; // the format at that time
        let read = EventRecord::decode(&"t".into(), "event", &stored).unwrap();
        assert_eq!((read.path.join("/"), read.node.as_str(), read.tags.len()), ("inner/say".into(), "say", 0));
        let now = encode_record(&read).unwrap();
        assert_eq!(EventRecord::decode(&"t".into(), "event", &now).unwrap(), read);
        assert!(EventRecord::decode(&"t".into(), "event", &now[..5]).is_err());
    }
}
