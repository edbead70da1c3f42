//! Interrupts, signals and answers, as types and as values.
//!
//! Knows no run and no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `question` | questions, their ids and terms, and their end without an answer |
//! | `human` | what a question declares of itself for the people who answer it |
//! | `answer` | answers, checked against the declaration of their question |
//! | `signal` | signals, and the declarations of nodes that receive them |
//! | `sketch` | the JSON of a type, described for a person |
//!
//! Small because it only lists the folder.

pub(crate) mod answer;
mod human;
pub(crate) mod question;
pub(crate) mod signal;
mod sketch;

pub use answer::Answer;
pub use human::{HumanQuestion, QuestionForm, Reply, ReplyKind};
pub use question::{AnswerInfo, AnyQuestion, AskError, Interrupt, InterruptId, Interrupted, NotAnId, Question};
pub use signal::{AwaitedSignal, SentSignal, Signal, SignalId, SignalRequest};

pub(crate) use answer::{DeclaredQuestion, To};
pub(crate) use question::{CloseReason, ClosedQuestion, EXPIRY, QuestionFormat, Terms};
pub(crate) use signal::{KEYED, SignalDeclarations, SignalType};
