//! The exit codes of a call, and its errors: message, causes, help and exit code. Must not know a graph.

use std::borrow::Cow;
use std::error::Error;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_base::panics::catch_panic;

use super::advice::{self, Caller};
use super::shapes::NextStep;
use super::store::StoreLocation;
use superstep::checkpoint::{BoxFuture, CheckpointError};
use superstep::graph::RunError;
use superstep::graph::state::InputError;

/// The end of a run, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The work is done: 0.
    Finished,
    /// It failed: 1.
    Failed,
    /// It waits for an answer from a person: 10.
    Asking,
    /// It gave up, stopped at a breakpoint, or used up a budget: 11.
    Halted,
    /// A person rejected it: 12.
    Rejected,
    /// It was cancelled, and can be resumed: 13.
    Cancelled,
    /// It waits for a time or a signal: 14.
    Waiting,
    /// A replay found no difference, but compared nothing, or too little for `--strict`: 15.
    Unverified,
    /// It waits for an answer to a question that has an exit code of its own.
    Question(u8),
}

impl Exit {
    /// Returns the end of a run that stops at a question with this exit code.
    pub(crate) fn of_question(code: u8) -> Self {
        [Self::Asking, Self::Halted].into_iter().find(|exit| exit.code() == code).unwrap_or(Self::Question(code))
    }

    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::Failed => 1,
            Self::Asking => 10,
            Self::Halted => 11,
            Self::Rejected => 12,
            Self::Cancelled => 13,
            Self::Waiting => 14,
            Self::Unverified => 15,
            Self::Question(code) => code,
        }
    }
}

/// The reason why arguments or a command of a program's own are refused: the problem, what to do about it, and the exit
/// code: that of wrong usage, 2, unless set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    error: String,
    help: Option<String>,
    code: u8,
}

impl Refusal {
    /// Returns a refusal.
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), help: None, code: 2 }
    }

    /// Sets the help text.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Sets the exit code.
    #[must_use]
    pub fn exit(self, exit: Exit) -> Self {
        Self { code: exit.code(), ..self }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { error, help, code } = refusal;
        Self { help, code, ..Self::new(error) }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let Failure { error, causes, help, code, .. } = failure;
        let error = [vec![error], causes].concat().join(": ");
        Self { error, help, code }
    }
}

impl From<Box<Refusal>> for Failure {
    fn from(refusal: Box<Refusal>) -> Self {
        (*refusal).into()
    }
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub(crate) struct Failure {
    pub error: String,
    /// Machine-readable kind of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Box<str>>,
    pub causes: Vec<String>,
    pub help: Option<String>,
    #[serde(default = "one")]
    pub code: u8,
    /// The help, with `{verb}` in the place of a command of this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    #[serde(flatten)]
    pub details: Option<Box<FailureDetails>>,
}

/// The rarer parts of a failure, apart from it, which stays small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailureDetails {
    /// The process that runs the thread, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Value>,
    /// The next steps of the thread, which end the help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
}

fn one() -> u8 {
    1
}

impl Failure {
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), kind: None, causes: vec![], help: None, code: 1, hint: None, details: None }
    }

    /// Returns an error of wrong usage: exit code 2.
    pub(crate) fn usage(error: impl Into<String>) -> Self {
        Self { code: 2, ..Self::new(error) }
    }

    /// Returns the machine-readable kind: the library's name for the error, else `usage` or `failed`.
    pub(crate) fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(if self.code == 2 { "usage" } else { "failed" })
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        (self.help, self.hint) = (Some(help.into()), None);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// Ends the help with the next steps of the thread.
    pub(crate) fn next(mut self, next: Vec<NextStep>) -> Self {
        self.details.get_or_insert_default().next = next;
        self
    }

    /// Replaces the placeholders in the hint with full commands, and adds the next steps.
    pub(crate) fn with_commands(mut self, caller: &Caller, thread: Option<&str>) -> Self {
        let hint = self.hint.take().map(|hint| fill_placeholders(&hint, caller, thread));
        let next = self.details.as_mut().map(|details| std::mem::take(&mut details.next)).unwrap_or_default();
        let next = advice::in_full(next, caller, thread.unwrap_or_default());
        let next = (!next.is_empty()).then(|| advice::sentence(&next));
        let help = [hint.or(self.help.take()), next];
        let help = help.into_iter().flatten().collect::<Vec<_>>().join("; ");
        self.help = (!help.is_empty()).then_some(help);
        self
    }

    pub(crate) fn because(mut self, error: &dyn Error) -> Self {
        let mut cause = Some(error);
        // `Display` of a user's error may panic; the causes before it are still printed.
        _ = catch_panic(|| {
            while let Some(error) = cause {
                self.causes.push(error.to_string());
                cause = error.source();
            }
        });
        self
    }
}

/// Replaces the placeholders in a hint with full commands.
fn fill_placeholders(hint: &str, caller: &Caller, thread: Option<&str>) -> String {
    let (mut help, mut rest) = (String::new(), hint);
    while let Some((before, verb, after)) = command(rest) {
        let words = match thread {
            Some(thread) if !OF_STORES.iter().any(|of_store| verb.starts_with(of_store)) => {
                caller.thread_command(verb, thread)
            }
            _ => caller.command(verb),
        };
        help.extend([before, &words]);
        rest = after;
    }
    help + rest
}

/// Commands that take no thread.
const OF_STORES: [&str; 2] = ["threads", "repair"];

/// Splits a text at its first `{verb}`.
fn command(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (verb, after) = rest.split_once('}')?;
    Some((before, verb, after))
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let mut failure = Self::of(&error);
        let own = || failure.help.as_deref().map(advice::in_commands);
        failure.hint = hint(&error).map(Cow::into_owned).or_else(own).map(String::into_boxed_str);
        if matches!(error, RunError::MistypedAnswer { .. }) {
            failure.code = 2;
        }
        failure
    }
}

impl Failure {
    /// Returns an error of the library, read from its JSON.
    fn of(error: &impl Serialize) -> Self {
        shape(error).unwrap_or_else(|failure| failure)
    }
}

/// Returns what is to be mended before the thread can go on; none if nothing is known of it.
fn remedy(error: &RunError) -> Option<&'static str> {
    Some(match error {
        RunError::QuestionChanged { .. } => "ask in the same order, or restart the superstep with `{retry}`",
        RunError::ConcurrentUpdate { .. } => "give the channel a reducer, or write it from one node",
        RunError::Refused { .. } => "fix the reducer or the write",
        RunError::RecursionLimit { .. } => "check the exit of the loop",
        RunError::StateTooLarge { .. } => "keep large values elsewhere and references to them in the state",
        RunError::Codec { .. } => "let the type write and read the value",
        _ => return None,
    })
}

/// Returns the help of the library with commands in the place of functions.
fn hint(error: &RunError) -> Option<Cow<'static, str>> {
    if let RunError::Checkpoint(CheckpointError::OtherStore { found, .. }) = error {
        return Some(StoreLocation::advice(found).into());
    }
    let text = match error {
        RunError::UnknownThread { near, .. } if near.is_empty() => "`{threads}` lists the threads",
        RunError::EmptyInput { .. } => "start a thread with `run GRAPH`",
        RunError::Unfinished { .. } => "`{status}` shows what is unfinished; answer it, or resume it with `{proceed}`",
        RunError::UnknownQuestion { .. } | RunError::AlreadyAnswered { .. } => {
            "nothing was written; `{status}` shows the pending questions"
        }
        RunError::MistypedAnswer { .. } => "nothing was written; `{status}` shows the expected answer",
        RunError::AmbiguousAnswer { .. } => "select one with `--interrupt ID`; `{status}` lists them",
        RunError::Foreign { .. } => "if you trust the author and the content of its file, `{trust}`",
        RunError::InvalidUpdate { .. } => "`update --help` describes an update",
        RunError::UnknownNode { .. } => "`graphs` lists the nodes of each graph",
        RunError::Checkpoint(CheckpointError::Locked { .. }) => "wait for that process, or end it",
        RunError::Checkpoint(CheckpointError::DamagedStore { .. }) => {
            "copy its directory; save the readable part with `{repair NEW}`, or restore a backup"
        }
        RunError::Checkpoint(CheckpointError::NotWritable { .. }) => {
            "read it with `--read-only`; to write, run as its owner, restore write permission (`chmod -R u+w`), or copy its \
             directory and use the copy with `--store PATH`"
        }
        RunError::NoSuchSignal { .. } => {
            "a task has received it, or it was discarded; `{status}` lists the signals in the mailbox"
        }
        RunError::MailboxFull { .. } => "let the thread receive some, or discard one with `{signal} --discard ID`",
        RunError::AmbiguousUpdate => "name the node with `--as-node NODE`",
        RunError::UnknownCheckpoint { .. } => "`{history}` lists the checkpoints",
        other => return remedy(other).map(Cow::from), // the library's own words will do
    };
    Some(text.into())
}

impl Failure {
    /// Returns the error of a run, with the next steps of its thread if the run came so far as to need some.
    pub(crate) fn of_run(error: RunError, next: Vec<NextStep>) -> Self {
        let is_of_work = matches!(error, RunError::Node { .. } | RunError::Panicked { .. });
        let (mended, was_refused) = (remedy(&error).is_some(), hint(&error).is_some());
        let failure = Self::from(error);
        if is_of_work {
            return Self { help: None, hint: None, ..failure }.next(next);
        }
        if was_refused && !mended { failure } else { failure.next(next) }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        RunError::from(error).into()
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self { code: 2, ..Self::of(&error) }
    }
}

/// Future of a fallible call.
pub(crate) type Call<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Converts a value of the library to the shape that it has here.
pub(crate) fn shape<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, Failure> {
    serde_json::from_value(json(value)?).map_err(|error| Failure::new(format!("the reply has another shape: {error}")))
}

/// Converts a reply to JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::new(format!("the reply is not JSON: {error}")))
}
