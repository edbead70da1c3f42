//! Interrupts, signals and answers, as types and as values.
//!
//! Knows no run and no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `question` | questions, their ids and terms, and their end without an answer |
//! | `question_schemas` | the JSON Schemas of a question and its answer |
//! | `human` | what a question declares of itself for the people who answer it |
//! | `answer` | answers, checked against the declaration of their question |
//! | `signal` | signals, and the declarations of nodes that receive them |
//! | `sketch` | the JSON of a type, described for a person |
//!
//! Small because it only lists the folder.

pub(crate) mod answer;
pub(crate) mod human;
pub(crate) mod question;
pub(crate) mod question_schemas;
pub(crate) mod signal;
mod sketch;

pub(crate) use answer::{Answer, DeclaredQuestion, To};
pub use human::ReplyKind;
pub(crate) use human::{HumanQuestion, QuestionForm};
pub use question::{AnswerInfo, AnyQuestion, Interrupted, NotAnId};
pub(crate) use question::{
    AskError, CloseReason, ClosedQuestion, EXPIRY, Interrupt, InterruptId, Question, QuestionFormat, Terms,
};
pub(crate) use question_schemas::QuestionSchemas;
pub use signal::{AwaitedSignal, SentSignal, SignalId, SignalRequest};
pub(crate) use signal::{Signal, SignalDeclarations, SignalType};
