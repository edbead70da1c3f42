//! Questions to a person: their payloads, ids and terms, and their end without an answer. Knows no graph and no store.

use std::any::type_name;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use superstep_base::Printable;
use superstep_base::panics::catch_panic;
use superstep_base::text::first_chars;
use superstep_base::time::system_time;

use super::question_schemas::QuestionSchemas;
use super::sketch::sketch;
use crate::checkpoint::{CheckpointId, QuestionRecord, TaskRecord, TermsRecord, VoteRecord};
use crate::graph::json::{Object, node_path, time_text, write_time};
use crate::graph::state::{ValueError, reading, value};

/// A question that a node asks a person. `NAME` identifies its type in stored threads.
///
/// ```
/// # use superstep::prelude::*;
/// # use serde::{Deserialize, Serialize};
/// #[derive(Interrupt, Serialize, Deserialize)]
/// #[interrupt(resume = bool, name = "approve")]
/// struct Approve {
///     text: String,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a question a node may ask",
    note = "add `#[derive(Interrupt, Serialize, Deserialize)]` and `#[interrupt(resume = <type of the answer>)]` to it"
)]
pub trait Interrupt: Serialize + DeserializeOwned + Send + 'static {
    /// The type of the answer.
    type Resume: Serialize + DeserializeOwned + Send + 'static;
    /// The name of the question in stored threads; unique within a graph.
    const NAME: &'static str;

    /// Returns a description of an answer's JSON, for people. It is derived from the answer's type; override it for a type
    /// that deserializes from more than one shape.
    fn answer_shape() -> String {
        sketch::<Self::Resume>()
    }

    /// Returns the JSON Schemas of the question and its answer: those of their types with `#[interrupt(schema)]`.
    #[doc(hidden)]
    fn schemas() -> QuestionSchemas {
        QuestionSchemas::plain::<Self, Self::Resume>()
    }
}

/// A question of any shape, for graphs read from data: question and answer are JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnyQuestion(pub Value);

#[diagnostic::do_not_recommend]
impl Interrupt for AnyQuestion {
    type Resume = Value;
    const NAME: &'static str = "any";
}

/// The id of a pending question. It holds the checkpoint, the task and the number of answers the task has, so no earlier or
/// later question has the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterruptId {
    pub(crate) birth: u64,
    pub(crate) checkpoint: CheckpointId,
    pub(crate) task: u32,
    pub(crate) place: u32,
}

impl fmt::Display for InterruptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{}-{:x}-{}", self.birth, self.checkpoint, self.task, self.place)
    }
}

impl Serialize for InterruptId {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        out.collect_str(self)
    }
}

impl FromStr for InterruptId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bad = || NotAnId::of("question", text);
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or_else(bad);
        let birth = u64::from_str_radix(part()?, 16).map_err(|_| bad())?;
        let checkpoint = CheckpointId(part()?.parse().map_err(|_| bad())?);
        let task = u32::from_str_radix(part()?, 16).map_err(|_| bad())?;
        let place = part()?.parse().map_err(|_| bad())?;
        if parts.next().is_some() { Err(bad()) } else { Ok(Self { birth, checkpoint, task, place }) }
    }
}

/// A text that is not an id of the expected kind: a question, or a signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not the id of a {what}", Printable(text))]
pub struct NotAnId {
    text: String,
    what: &'static str,
}

impl NotAnId {
    /// Keeps the start of the text; it may be of any length.
    pub(crate) fn of(what: &'static str, text: &str) -> Self {
        Self { text: first_chars(text, 80).to_owned(), what }
    }
}

/// A pending question.
#[derive(Clone)]
pub struct Question {
    pub(crate) id: InterruptId,
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) namespace: Vec<String>,
    pub(crate) payload: Vec<u8>,
    pub(crate) shows: QuestionFormat,
    pub(crate) answered: bool,
    /// Distinguishes askers that share a task.
    pub(crate) asker: String,
    pub(crate) terms: Terms,
}

/// Converts stored questions of one type, and their answers, to JSON.
#[derive(Clone, Copy)]
pub(crate) struct QuestionFormat {
    pub question: fn(&[u8]) -> Value,
    pub answer: fn(&[u8]) -> Value,
    /// The name of the answer's type.
    takes: &'static str,
    sketch: fn() -> String,
    schemas: fn() -> QuestionSchemas,
}

impl QuestionFormat {
    pub(crate) fn of<I: Interrupt>() -> Self {
        Self {
            question: json::<I>,
            answer: json::<I::Resume>,
            takes: type_name::<I::Resume>(),
            sketch: I::answer_shape,
            schemas: I::schemas,
        }
    }

    pub(crate) fn schemas(&self) -> QuestionSchemas {
        (self.schemas)()
    }
}

impl fmt::Debug for QuestionFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shows")
    }
}

/// Returns a stored value of this type as JSON; a value of another type as far as it fits JSON.
pub(crate) fn json<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Value {
    let typed =
        reading::decode::<T>(bytes).ok().and_then(|value| catch_panic(|| serde_json::to_value(value).ok()).ok()?);
    typed.or_else(|| reading::as_json(bytes).ok()).unwrap_or_default()
}

impl Question {
    /// Returns a stored question of any type: its payload and answer are JSON.
    pub(crate) fn from_record(record: &QuestionRecord, birth: u64, payload: Vec<u8>) -> Self {
        let QuestionRecord { checkpoint, task, place, .. } = *record;
        Self {
            id: InterruptId { birth, checkpoint, task, place },
            name: record.name.clone(),
            node: record.node.clone(),
            namespace: record.namespace.clone(),
            payload,
            shows: QuestionFormat::of::<AnyQuestion>(),
            answered: record.answered,
            asker: record.asker.clone().unwrap_or_default(),
            terms: Terms::default(),
        }
    }

    /// Returns the id that an answer names.
    pub fn id(&self) -> InterruptId {
        self.id
    }

    /// Returns the name of its type: [`Interrupt::NAME`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the node that interrupted.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the nodes whose subgraphs that node is in, outermost first.
    pub fn namespace(&self) -> &[String] {
        &self.namespace
    }

    /// Returns the full name of the answer's type; that of any JSON if no node declares the question.
    pub fn answer_type(&self) -> &'static str {
        self.shows.takes
    }

    /// Returns a description of the answer's JSON, for a person: `true or false`, `{"verdict": .., "feedback": text}`.
    pub fn answer_shape(&self) -> String {
        (self.shows.sketch)()
    }

    /// Returns the JSON Schema of the answer; `None` if it is not known: if no node declares the question, or its type does
    /// not opt in with `#[interrupt(schema)]` and the answer is neither a text, nor a number, nor a truth value.
    pub fn answer_schema(&self) -> Option<Value> {
        self.shows.schemas().answer
    }

    /// Returns the JSON Schema of the payload; `None` if it is not known, under the same conditions as that of the
    /// [answer](Self::answer_schema).
    pub fn payload_schema(&self) -> Option<Value> {
        self.shows.schemas().payload
    }

    /// Returns true if it is no longer pending: its answer is stored, but its task failed or has not run again; or its
    /// subgraph was advanced with `update_state`.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Returns the time it expires, if any.
    pub fn expires(&self) -> Option<SystemTime> {
        self.terms.record.expires.map(system_time)
    }

    /// Returns the default answer used on expiry, as JSON; `None` if it has no default.
    pub fn default_answer(&self) -> Option<Value> {
        self.terms.record.default.as_deref().map(self.shows.answer)
    }

    /// Returns the number of equal answers it needs: usually 1.
    pub fn approvals(&self) -> u32 {
        self.terms.record.approvals.max(1)
    }

    /// Returns the people who may answer it; empty for anybody.
    pub fn approvers(&self) -> &[String] {
        &self.terms.record.approvers
    }

    /// Returns the answers so far, if it needs several.
    pub fn votes(&self) -> Vec<AnswerInfo> {
        let vote = |vote: &VoteRecord| AnswerInfo {
            name: self.name.clone(),
            value: (self.shows.answer)(&vote.value),
            by: Some(vote.by.clone()),
            at: vote.at,
            note: vote.note.clone(),
        };
        self.terms.votes.iter().map(vote).collect()
    }

    /// Returns the payload, if it is of this type.
    pub fn payload<I: Interrupt>(&self) -> Option<I> {
        (self.name == I::NAME).then(|| reading::decode(&self.payload).ok()).flatten()
    }

    /// Returns the payload as JSON; null if no node declares the question and it does not fit JSON.
    pub fn json(&self) -> Value {
        (self.shows.question)(&self.payload)
    }
}

impl Serialize for Question {
    fn serialize<W: Serializer>(&self, out: W) -> Result<W::Ok, W::Error> {
        Object::new(out)?
            .put("id", self.id)?
            .put("name", &self.name)?
            .put("node", node_path(&self.namespace, &self.node))?
            .put("payload", self.json())?
            .put("takes", self.answer_shape())?
            .put_some("expires", self.expires().map(time_text))?
            .put_some("default", self.default_answer())?
            .put_some("approvals", Some(self.approvals()).filter(|&count| count > 1))?
            .put_list("approvers", self.approvers())?
            .put_list("votes", &self.votes())?
            .put_some("answered", self.answered.then_some(true))?
            .end()
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("id", &format_args!("{}", self.id))
            .field("name", &self.name)
            .field("node", &self.node)
            .field("namespace", &self.namespace)
            .field("json", &format_args!("{}", self.json()))
            .field("is_answered", &self.answered)
            .finish()
    }
}

/// The error with which a node returns while its question has no answer. It is not a failure: the question is already
/// recorded in the task, even if the node returns another error.
#[derive(Debug, thiserror::Error)]
#[error("waiting for an answer")]
#[must_use = "pass it on with `?`: the node has to stop here"]
pub struct Interrupted(());

impl Interrupted {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

/// An answer to a task's question.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AnswerInfo {
    /// The name of the question's type.
    pub name: String,
    /// The answer as JSON.
    pub value: Value,
    /// The person who answered.
    pub by: Option<String>,
    /// The time of the answer, in milliseconds since 1970.
    #[serde(serialize_with = "write_time")]
    pub at: u64,
    /// The person's note.
    pub note: Option<String>,
}

/// The name under which an expired question is answered.
pub(crate) const EXPIRY: &str = "expiry";

/// The stored type name of a question's end without an answer.
const CLOSED: &str = "superstep question closed";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClosedQuestion {
    pub how: CloseReason,
    pub by: Option<String>,
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CloseReason {
    Expired,
    Cancelled,
    Disagreed,
}

impl ClosedQuestion {
    /// Encodes it to be stored in place of an answer.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ValueError> {
        value::encode(|| "the end of a question".into(), CLOSED, self)
    }

    /// Decodes it from the place of an answer; `None` for an answer.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        value::is_named(bytes, CLOSED).then(|| reading::decode_only(bytes).ok()).flatten()
    }

    pub(crate) fn error(self, question: &str) -> AskError {
        let (question, Self { how, by, note }) = (question.to_owned(), self);
        match how {
            CloseReason::Expired => AskError::Expired { question },
            CloseReason::Cancelled => AskError::Cancelled { question, by, note },
            CloseReason::Disagreed => AskError::Disagreed { question },
        }
    }
}

/// The requirements for answering a question, and its answers so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    pub record: TermsRecord,
    pub votes: Vec<VoteRecord>,
}

impl Terms {
    pub(crate) fn of(record: &TaskRecord, asked: &QuestionRecord) -> Self {
        let votes = votes_of(record, asked).cloned().collect();
        Self { record: terms_of(record, asked).cloned().unwrap_or_default(), votes }
    }
}

fn names(asked: &QuestionRecord, (checkpoint, task, place): (CheckpointId, u32, u32)) -> bool {
    (asked.checkpoint, asked.task, asked.place) == (checkpoint, task, place)
}

pub(crate) fn terms_of<'a>(record: &'a TaskRecord, asked: &QuestionRecord) -> Option<&'a TermsRecord> {
    record.terms.iter().find(|terms| names(asked, (terms.checkpoint, terms.task, terms.place)))
}

pub(crate) fn votes_of<'a>(record: &'a TaskRecord, asked: &'a QuestionRecord) -> impl Iterator<Item = &'a VoteRecord> {
    record.votes.iter().filter(move |vote| names(asked, (vote.checkpoint, vote.task, vote.place)))
}

/// The error of a question that has no answer, yet or ever. Made by [`Ctx::ask`](crate::graph::Ctx::ask).
///
/// Handle the variants you expect and return the others with `?`: [`Interrupted`](Self::Interrupted) is not a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// There is no answer yet: return it.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// It expired, and has no default.
    #[error("question `{question}` expired without an answer")]
    Expired {
        /// The name of its type.
        question: String,
    },
    /// It was cancelled.
    #[error("question `{question}` was cancelled{}", by.as_ref().map(|by| format!(" by {}", Printable(by))).unwrap_or_default())]
    Cancelled {
        /// The name of its type.
        question: String,
        /// The person who cancelled it.
        by: Option<String>,
        /// The person's note.
        note: Option<String>,
    },
    /// No answer can get the number of approvals it needs any more.
    #[error("the approvers of `{question}` do not agree")]
    Disagreed {
        /// The name of its type.
        question: String,
    },
}
