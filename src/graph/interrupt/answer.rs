//! Answers to interrupts, encoded when they are made and checked against the declaration of their question.

use std::any::type_name;

use serde_json::Value;

use super::question::{CloseReason, Interrupt, InterruptId, QuestionFormat};
use crate::checkpoint::decode_json;
use crate::graph::state::{ValueError, reading, stored_value, value};

/// An answer to a question, stored with the name and note of the person. It is checked first: an invalid one changes
/// nothing. LangGraph: `Command(resume=…)`.
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(Serialize, Deserialize)] struct Approve;
/// # impl Interrupt for Approve { type Resume = bool; const NAME: &'static str = "approve"; }
/// # fn example() -> Result<(), superstep::graph::interrupt::NotAnId> {
/// let typed = Answer::new::<Approve>(&true).by("ada").note("with the new title");
/// let from_a_form = Answer::json(&serde_json::json!(true)).to("35b63513-3-0-0".parse()?);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Answer {
    pub(crate) to: To,
    pub(crate) name: Option<&'static str>,
    pub(crate) bytes: Result<Vec<u8>, ValueError>,
    /// The value, if given as JSON.
    pub(crate) json: Option<Value>,
    pub(crate) by: Option<String>,
    pub(crate) note: Option<String>,
    /// Set if it closes the question without an answer.
    pub(crate) closing: Option<CloseReason>,
    /// Set if it was made when the question expired, not by a person.
    pub(crate) is_of_expiry: bool,
    /// The time at which it was posted, in milliseconds since 1970, if that was before it is applied.
    pub(crate) posted_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The only pending one (of the answer's type, if it has one).
    TheOnly,
    /// This one.
    Id(InterruptId),
}

impl Answer {
    /// Returns a typed answer to the only pending question of its type.
    pub fn new<I: Interrupt>(value: &I::Resume) -> Self {
        let what = || format!("answer to `{}`", I::NAME);
        Self::bytes(Some(I::NAME), value::encode_both_ways(what, type_name::<I::Resume>(), value))
    }

    /// Returns an answer given as JSON, checked against the type that the node declared with `.asks`.
    pub fn json(value: &Value) -> Self {
        let bytes = value::encode(|| "answer".into(), stored_value::JSON, value);
        Self { json: Some(value.clone()), ..Self::bytes(None, bytes) }
    }

    fn bytes(name: Option<&'static str>, bytes: Result<Vec<u8>, ValueError>) -> Self {
        let (json, by, note, closing) = (None, None, None, None);
        Self { to: To::TheOnly, name, bytes, json, by, note, closing, is_of_expiry: false, posted_at: None }
    }

    /// Returns the result of an expired question: its default, or no answer.
    pub(crate) fn of_expiry(default: Option<Vec<u8>>) -> Self {
        let closing = default.is_none().then_some(CloseReason::Expired);
        Self { closing, is_of_expiry: true, ..Self::bytes(None, Ok(default.unwrap_or_default())) }
    }

    /// Returns an answer that was posted at a time.
    pub(crate) fn posted(
        to: To,
        value: Vec<u8>,
        (by, note): (Option<String>, Option<String>),
        (at, closing): (u64, Option<CloseReason>),
    ) -> Self {
        Self { to, by, note, closing, posted_at: Some(at), ..Self::bytes(None, Ok(value)) }
    }

    /// Sets the question.
    pub fn to(mut self, id: InterruptId) -> Self {
        self.to = To::Id(id);
        self
    }

    /// Sets the person who answers.
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.note = Some(text.into());
        self
    }

    /// Cancels a question: the only pending one, or the one set with [`to`](Self::to). A node that asked with
    /// [`Ctx::ask`](crate::graph::Ctx::ask) gets [`AskError::Cancelled`](crate::graph::AskError::Cancelled); any other
    /// fails with [`RunError::QuestionClosed`](crate::graph::RunError::QuestionClosed).
    pub fn cancel() -> Self {
        Self { closing: Some(CloseReason::Cancelled), ..Self::json(&Value::Null) }
    }
}

/// Checks an answer against its type, and returns the bytes to store.
type TakeAnswer = fn(&Answer, Vec<u8>) -> Result<Vec<u8>, String>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclaredQuestion {
    pub type_name: &'static str,
    pub answer: &'static str,
    pub take: TakeAnswer,
    pub shows: QuestionFormat,
}

pub(crate) fn encode_checked<I: Interrupt>(answer: &Answer, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(json) = &answer.json else { return reading::decode::<I::Resume>(&bytes).map(|_| bytes) };
    let value: I::Resume = decode_json(json)?;
    Answer::new::<I>(&value).bytes.map_err(|error| error.to_string())
}
