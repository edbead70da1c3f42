//! What a question declares of itself for the people who answer it: its text, the answers in their words, its checks and its
//! exit code. A host shows and answers questions by it and knows none of their types.

use std::any::{Any, type_name};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::question::{Interrupt, Question};
use crate::graph::state::{AnyState, State};

/// A decision that people make about most questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyKind {
    /// Go ahead.
    Approve,
    /// Do not.
    Reject,
    /// Do it again, differently.
    Revise,
}

impl ReplyKind {
    /// The decisions, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Approve, Self::Reject, Self::Revise];

    /// Returns the word for it: `approve`, `reject`, `revise`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Revise => "revise",
        }
    }
}

/// A person's reply in plain words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The decision.
    pub kind: ReplyKind,
    /// The reason, or what to change. Always there with [`ReplyKind::Revise`].
    pub feedback: Option<String>,
    /// The name of the person.
    pub by: Option<String>,
}

impl Reply {
    /// Returns the reply as an answer that is a `bool`: none for another type, or a revision.
    fn as_bool<A: 'static>(&self) -> Option<A> {
        let answer = match self.kind {
            ReplyKind::Approve => true,
            ReplyKind::Reject => false,
            ReplyKind::Revise => return None,
        };
        (Box::new(answer) as Box<dyn Any>).downcast().ok().map(|answer| *answer)
    }

    /// Returns the reply as the JSON of an answer to a question that no graph declares; none unless it takes a `bool`.
    pub fn answer_to(&self, question: &Question) -> Option<Value> {
        (question.answer_type() == type_name::<bool>()).then(|| self.as_bool::<bool>()).flatten().map(Value::Bool)
    }
}

/// A question as people see and answer it, in a graph over the state `S`. Everything has a default; a question that is not
/// declared so is shown field by field, and answered with JSON.
///
/// ```
/// use superstep::graph::{HumanQuestion, Reply};
/// use superstep::graph::interrupt::ReplyKind;
/// use superstep::prelude::*;
///
/// #[derive(Interrupt, Serialize, Deserialize)]
/// #[interrupt(resume = Word, name = "publish")]
/// struct Publish(String);
/// #[derive(Serialize, Deserialize)]
/// enum Word { Now, Never, Again(String) }
///
/// impl<S> HumanQuestion<S> for Publish {
///     fn decide(&self, reply: &Reply) -> Option<Word> {
///         match reply.kind {
///             ReplyKind::Approve => Some(Word::Now),
///             ReplyKind::Reject => Some(Word::Never),
///             ReplyKind::Revise => reply.feedback.clone().map(Word::Again),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare how people answer it in a graph over `{S}`",
    note = "add `impl<S> HumanQuestion<S> for {Self} {{}}`; each of its methods has a default"
)]
pub trait HumanQuestion<S>: Interrupt {
    /// The exit code of a command whose run stops at the question.
    const EXIT_CODE: u8 = 10;

    /// Converts `approve`, `reject` or `revise` into an answer; `None` if it cannot answer the question. By default a
    /// question that takes a `bool` is approved or rejected.
    fn decide(&self, reply: &Reply) -> Option<Self::Resume> {
        reply.as_bool()
    }

    /// Formats the question as lines; `None`: a line for each field. Control characters are escaped.
    fn describe(&self, _state: &S) -> Option<String> {
        None
    }

    /// Returns why an answer cannot be followed, before it is stored; `None` if it can.
    fn check(&self, _answer: &Self::Resume) -> Option<String> {
        None
    }

    /// Returns remarks on an answer that can be followed: things that its author probably did not mean.
    fn remarks(&self, _answer: &Self::Resume) -> Vec<String> {
        vec![]
    }

    /// Returns commands that answer it, without program and thread, in the place of examples made from the shape of its
    /// answers: `resume --answer '"later"'`, or a command of the program's own.
    fn commands(&self, _state: &S) -> Vec<String> {
        vec![]
    }

    /// Returns the text that a person may edit to answer it; `None` if it is not answered so.
    fn draft(&self, _state: &S) -> Option<String> {
        None
    }

    /// Converts the edited text into an answer.
    fn from_draft(_text: String) -> Option<Self::Resume> {
        None
    }
}

/// A question as a host sees it that does not know its type: the methods of [`HumanQuestion`] over JSON.
#[derive(Clone, Copy, Debug)]
pub struct QuestionForm {
    name: &'static str,
    exit_code: u8,
    decide: fn(&Question, &Reply) -> Option<Value>,
    describe: fn(&AnyState, &Question) -> Option<String>,
    check: fn(&Question, &Value) -> Option<String>,
    remarks: fn(&Question, &Value) -> Option<Vec<String>>,
    commands: fn(&AnyState, &Question) -> Option<Vec<String>>,
    draft: fn(&AnyState, &Question) -> Option<String>,
    from_draft: fn(String) -> Option<Value>,
}

impl QuestionForm {
    /// Returns the form of a question in graphs over `S`.
    pub fn of<S: State, Q: HumanQuestion<S>>() -> Self {
        Self {
            name: Q::NAME,
            exit_code: Q::EXIT_CODE,
            decide: |question, reply| json(question.payload::<Q>()?.decide(reply)?),
            describe: |state, question| question.payload::<Q>()?.describe(state.downcast_ref()?),
            check: |question, answer| question.payload::<Q>()?.check(&parse_answer(answer)?),
            remarks: |question, answer| Some(question.payload::<Q>()?.remarks(&parse_answer(answer)?)),
            commands: |state, question| Some(question.payload::<Q>()?.commands(state.downcast_ref()?)),
            draft: |state, question| question.payload::<Q>()?.draft(state.downcast_ref()?),
            from_draft: |text| json(Q::from_draft(text)?),
        }
    }

    /// Returns the name of the question.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// As [`HumanQuestion::EXIT_CODE`].
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// As [`HumanQuestion::decide`], as JSON.
    pub fn decide(&self, question: &Question, reply: &Reply) -> Option<Value> {
        (self.decide)(question, reply)
    }

    /// As [`HumanQuestion::describe`].
    pub fn describe(&self, state: &AnyState, question: &Question) -> Option<String> {
        (self.describe)(state, question)
    }

    /// As [`HumanQuestion::check`]; an answer of another type passes, as storing it reports that.
    pub fn check(&self, question: &Question, answer: &Value) -> Option<String> {
        (self.check)(question, answer)
    }

    /// As [`HumanQuestion::remarks`]; none on an answer of another type.
    pub fn remarks(&self, question: &Question, answer: &Value) -> Vec<String> {
        (self.remarks)(question, answer).unwrap_or_default()
    }

    /// As [`HumanQuestion::commands`].
    pub fn commands(&self, state: &AnyState, question: &Question) -> Vec<String> {
        (self.commands)(state, question).unwrap_or_default()
    }

    /// As [`HumanQuestion::draft`].
    pub fn draft(&self, state: &AnyState, question: &Question) -> Option<String> {
        (self.draft)(state, question)
    }

    /// As [`HumanQuestion::from_draft`], as JSON.
    pub fn answer_from_draft(&self, text: String) -> Option<Value> {
        (self.from_draft)(text)
    }
}

fn json(answer: impl Serialize) -> Option<Value> {
    serde_json::to_value(answer).ok()
}

fn parse_answer<A: DeserializeOwned>(answer: &Value) -> Option<A> {
    serde_json::from_value(answer.clone()).ok()
}
