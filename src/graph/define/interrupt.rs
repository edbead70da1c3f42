//! Questions to a person, and their answers. Knows no graph and no store.

use std::any::type_name;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::not_an_id::NotAnId;
use super::sketch::sketch;
use super::terms::{Closing, Terms};
use crate::checkpoint::panics::caught;
use crate::checkpoint::{CheckpointId, QuestionRecord, VoteRecord};
use crate::graph::channels::{reading, value};
use crate::graph::run::clock;
use crate::graph::run::error::RunError;
use crate::graph::thread::snapshot::AnswerInfo;

/// A question that a node asks a person. `NAME` ties an answer to its question across processes.
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
    /// Names the question in stored threads; unique within a graph.
    const NAME: &'static str;

    /// Returns what an answer looks like as JSON, for people. It is found out from the answer's type; one that reads itself
    /// from more than one shape says so here.
    fn answer_shape() -> String {
        sketch::<Self::Resume>()
    }
}

/// A question of any shape, for graphs that are read from data: question and answer are JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnyQuestion(pub Value);

impl Interrupt for AnyQuestion {
    type Resume = Value;
    const NAME: &'static str = "any";
}

/// Names one question for as long as it is open. It holds the checkpoint, the task and the number of answers the task has,
/// so it fits no other question, before or after.
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

/// An open question.
#[derive(Clone)]
pub struct Question {
    pub(crate) id: InterruptId,
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) namespace: Vec<String>,
    pub(crate) payload: Vec<u8>,
    pub(crate) shows: Shows,
    pub(crate) answered: bool,
    /// Which of those that ask in the name of its task.
    pub(crate) asker: String,
    pub(crate) terms: Terms,
}

/// Shows questions of one type, and their answers, as JSON.
#[derive(Clone, Copy)]
pub(crate) struct Shows {
    pub question: fn(&[u8]) -> Value,
    pub answer: fn(&[u8]) -> Value,
    /// The name of the answer's type.
    takes: &'static str,
    sketch: fn() -> String,
}

impl Shows {
    pub(crate) fn of<I: Interrupt>() -> Self {
        Self {
            question: json::<I>,
            answer: json::<I::Resume>,
            takes: type_name::<I::Resume>(),
            sketch: I::answer_shape,
        }
    }
}

impl fmt::Debug for Shows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shows")
    }
}

/// A stored value of this type as JSON; what another type stored is shown as far as it fits JSON.
fn json<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Value {
    let typed = reading::decode::<T>(bytes).ok().and_then(|value| caught(|| serde_json::to_value(value).ok()).ok()?);
    typed.or_else(|| reading::as_json(bytes).ok()).unwrap_or_default()
}

impl Question {
    /// Returns a stored question of whatever type: its payload and answer are JSON.
    pub(crate) fn untyped(record: &QuestionRecord, birth: u64, payload: Vec<u8>) -> Self {
        let QuestionRecord { checkpoint, task, place, .. } = *record;
        Self {
            id: InterruptId { birth, checkpoint, task, place },
            name: record.name.clone(),
            node: record.node.clone(),
            namespace: record.namespace.clone(),
            payload,
            shows: Shows::of::<AnyQuestion>(),
            answered: record.answered,
            asker: record.asker.clone().unwrap_or_default(),
            terms: Terms::default(),
        }
    }

    /// Returns what names it in an answer.
    pub fn id(&self) -> InterruptId {
        self.id
    }

    /// Returns the name of its type: [`Interrupt::NAME`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the node that asked.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Returns the nodes whose subgraphs the asking node is in, outermost first.
    pub fn namespace(&self) -> &[String] {
        &self.namespace
    }

    /// Returns the full name of the type of its answer; that of any JSON if nobody declares the question.
    pub fn answer_type(&self) -> &'static str {
        self.shows.takes
    }

    /// Returns what its answer looks like as JSON, for a person: `true or false`, `{"verdict": .., "feedback": text}`.
    pub fn answer_shape(&self) -> String {
        (self.shows.sketch)()
    }

    /// Returns whether it is open no more: it has an answer that its task has not taken yet, as the task failed or has not run
    /// again; or its subgraph was moved on by hand.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Returns when it expires, if it does.
    pub fn expires(&self) -> Option<SystemTime> {
        self.terms.record.expires.map(clock::time)
    }

    /// Returns the answer that counts once it has expired, as JSON; none if it has no default.
    pub fn default_answer(&self) -> Option<Value> {
        self.terms.record.default.as_deref().map(self.shows.answer)
    }

    /// Returns how many equal answers it needs: 1 for most.
    pub fn approvals(&self) -> u32 {
        self.terms.record.approvals.max(1)
    }

    /// Returns the people who may answer it; empty: anybody.
    pub fn approvers(&self) -> &[String] {
        &self.terms.record.approvers
    }

    /// Returns the answers that it has got so far, if it needs several.
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

    /// Returns what is asked, if it is of this type.
    pub fn payload<I: Interrupt>(&self) -> Option<I> {
        (self.name == I::NAME).then(|| reading::decode(&self.payload).ok()).flatten()
    }

    /// Returns what is asked as JSON; null if nobody declares the question and it does not fit JSON.
    pub fn json(&self) -> Value {
        (self.shows.question)(&self.payload)
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

/// An answer on its way to its question. It is stored with who gave it and their note, and checked before: a wrong one
/// changes nothing. LangGraph: `Command(resume=…)`.
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(Serialize, Deserialize)] struct Approve;
/// # impl Interrupt for Approve { type Resume = bool; const NAME: &'static str = "approve"; }
/// # fn example() -> Result<(), superstep::graph::NotAnId> {
/// let typed = Answer::new::<Approve>(&true).by("ada").note("with the new title");
/// let from_a_form = Answer::json(&serde_json::json!(true)).to("35b63513-3-0-0".parse()?);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Answer {
    pub(crate) to: To,
    pub(crate) name: Option<&'static str>,
    pub(crate) bytes: Result<Vec<u8>, RunError>,
    /// As it was given, if as JSON.
    pub(crate) json: Option<Value>,
    pub(crate) by: Option<String>,
    pub(crate) note: Option<String>,
    /// Why the question gets no answer, if this is none.
    pub(crate) closing: Option<Closing>,
    /// Whether the question's time gives it, not a person.
    pub(crate) is_of_expiry: bool,
}

/// Which question an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The only open one (of the answer's type, if it has one).
    TheOnly,
    /// This one.
    Id(InterruptId),
}

impl Answer {
    /// Returns a typed answer to the one open question of its type.
    pub fn new<I: Interrupt>(value: &I::Resume) -> Self {
        let what = || format!("answer to `{}`", I::NAME);
        Self::bytes(Some(I::NAME), value::encode_both_ways(what, type_name::<I::Resume>(), value))
    }

    /// Returns an answer given as JSON; it is checked against the type that the node declared with `.asks`.
    pub fn json(value: &Value) -> Self {
        let bytes = value::encode(|| "answer".into(), value::JSON, value);
        Self { json: Some(value.clone()), ..Self::bytes(None, bytes) }
    }

    fn bytes(name: Option<&'static str>, bytes: Result<Vec<u8>, RunError>) -> Self {
        let (json, by, note, closing) = (None, None, None, None);
        Self { to: To::TheOnly, name, bytes, json, by, note, closing, is_of_expiry: false }
    }

    /// Returns what a question gets at the end of its time: its default, or no answer.
    pub(crate) fn of_expiry(default: Option<Vec<u8>>) -> Self {
        let closing = default.is_none().then_some(Closing::Expired);
        Self { closing, is_of_expiry: true, ..Self::bytes(None, Ok(default.unwrap_or_default())) }
    }

    /// Sends the answer to this question.
    pub fn to(mut self, id: InterruptId) -> Self {
        self.to = To::Id(id);
        self
    }

    /// Says who answers.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }
}

/// Carried out of a node by `?` when a question has no answer yet. It is not a failure: the question is already noted in
/// the task, whatever error the node makes of this.
#[derive(Debug, thiserror::Error)]
#[error("waiting for an answer")]
#[must_use = "pass it on with `?`: the node has to stop here"]
pub struct Interrupted(());

impl Interrupted {
    pub(crate) fn new() -> Self {
        Self(())
    }
}
