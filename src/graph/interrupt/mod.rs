//! Interrupts, signals and answers, as types and as values.
//!
//! Knows no run and no store.

pub(crate) mod answer;
mod answer_info;
mod ask_error;
pub(crate) mod declared;
mod question;
pub(crate) mod signal;
mod sketch;
pub(crate) mod terms;

pub use answer::Answer;
pub use answer_info::AnswerInfo;
pub use ask_error::AskError;
pub use question::{AnyQuestion, Interrupt, InterruptId, Interrupted, Question};
pub use signal::{AwaitedSignal, SentSignal, Signal, SignalId, SignalRequest};

pub(crate) use answer::To;
pub(crate) use declared::DeclaredQuestion;
pub(crate) use question::Shows;
pub(crate) use signal::{KEYED, Receives, SignalDeclarations};
pub(crate) use terms::{CloseReason, Closed, EXPIRY, Terms};
