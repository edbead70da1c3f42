//! The errors of runs, what to do about each, and how one becomes the error of a node around it. Ids are turned into names
//! before they get here. The texts are in `run_error_text`.

use std::error::Error;
use std::sync::Arc;

use superstep_base::Printable;
use superstep_base::near::near;

use super::incompatibility::{Incompatibility, Unreadable};
use super::node_error::{ErrorClass, NodeError, SharedNodeError};
use crate::checkpoint::error::did_you_mean;
use crate::checkpoint::{CheckpointError, CheckpointId, ThreadId};
use crate::graph::interrupt::{InterruptId, SignalId};
use crate::graph::state::ValueError;

/// The writer of START's input, in error messages.
pub(crate) const INPUT: &str = "the input";

/// A failure of a run, or of reading and writing a thread. Completed steps stay stored.
///
/// Display says what and where, [`help`](Self::help) suggests a fix. `V2` and the like are numbers of deliberate
/// differences from LangGraph; [`coming_from_langgraph`](crate::coming_from_langgraph) lists them.
#[derive(Clone, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the names that the message prints")]
pub enum RunError {
    /// A node failed, after its retries.
    Node {
        node: Arc<str>,
        /// The nodes whose subgraphs it is in, outermost first.
        namespace: Arc<[String]>,
        step: i64,
        error: SharedNodeError,
    },
    /// A node panicked.
    Panicked { node: Arc<str>, namespace: Arc<[String]>, step: i64, message: String },
    /// User code panicked outside of a node: a method of a state, a filter, a store.
    Panic { doing: &'static str, message: String },
    /// A node returned `Ok` although its question has no answer.
    QuestionIgnored { node: Arc<str>, question: String },
    /// A node returned `Ok` although the signal it waits for has not arrived.
    SignalIgnored { node: Arc<str>, signal: String },
    /// A node receives a signal it did not declare.
    UndeclaredSignal { node: Arc<str>, signal: &'static str, type_name: &'static str },
    /// No node of the graph receives such a signal. Nothing was sent.
    UnknownSignal { signal: String, declared: Vec<String> },
    /// A signal has the wrong type for its name: one to be sent, or one in the mailbox.
    MistypedSignal { id: Option<SignalId>, signal: String, reason: String },
    /// The thread has reached its limit of unreceived signals. Nothing was sent.
    MailboxFull { thread: ThreadId, limit: usize },
    /// There is no such signal in the mailbox.
    NoSuchSignal { thread: ThreadId, id: SignalId },
    /// A node asked a question that is closed without an answer, through a method that returns only answers.
    QuestionClosed { node: Arc<str>, reason: String },
    /// The question has expired: its default, if it has one, is the answer.
    QuestionExpired { id: InterruptId },
    /// The person may not answer the question.
    NotAnApprover { id: InterruptId, reason: String },
    /// A node asked a question it did not declare.
    UndeclaredQuestion { node: Arc<str>, question: &'static str, type_name: &'static str },
    /// A node asked a question by the name of another declared type.
    QuestionNameTaken { node: Arc<str>, question: &'static str, type_name: &'static str, declared: &'static str },
    /// A node asks another question than the one that was answered; payloads as JSON, if they can be read.
    QuestionChanged {
        node: Arc<str>,
        place: usize,
        before: String,
        before_payload: Option<String>,
        now: &'static str,
        now_payload: Option<String>,
    },
    /// The body of an effect called a subgraph.
    CallInEffect { node: Arc<str>, key: String },
    /// An effect or recorded value is requested with other arguments than recorded.
    NonDeterministic { node: Arc<str>, key: String, recorded: String, now: String },
    /// Two effects or recorded values of one attempt have the same key.
    EffectTwice { node: Arc<str>, key: String },
    /// A replay diverged from the record.
    Diverged { node: Arc<str>, what: String, recorded: String, now: String },
    /// A replay reached an effect or value that was never recorded.
    NotRecorded { node: Arc<str>, what: String, now: String },
    /// Two tasks of one superstep wrote a channel that takes one write. LangGraph: `InvalidUpdateError`.
    ConcurrentUpdate { channel: String, step: i64, nodes: Vec<String> },
    /// A reducer returned an error.
    Refused { channel: String, step: i64, nodes: Vec<String>, reason: String },
    /// A router, command or send leads to a node that does not exist.
    UnknownTarget { from: Arc<str>, to: String },
    /// A command leads to a node not declared with `.goes_to`, or a router to one not among its declared targets.
    UndeclaredTarget { from: Arc<str>, to: String },
    /// A send goes to END.
    SendToEnd { from: Arc<str> },
    /// A send goes to a node that does not take its payload, or an edge to one that takes only payloads.
    NotStartable { from: Arc<str>, to: String, reason: String },
    /// A command for the enclosing graph, which does not exist.
    NoParentGraph { node: Arc<str> },
    /// A command for an enclosing graph of another type.
    WrongParent { node: Arc<str>, given: &'static str },
    /// The run did not end within the limit. Its state so far is stored. LangGraph: `GraphRecursionError`.
    RecursionLimit { limit: u64 },
    /// A setting of the run is invalid.
    InvalidConfig { what: String },
    /// The graph can interrupt, or the operation needs a store, and there is no checkpointer.
    NoCheckpointer { what: &'static str },
    /// There is nothing to resume. LangGraph: `EmptyInputError`.
    EmptyInput { thread: ThreadId },
    /// There is no such thread.
    UnknownThread { thread: ThreadId, near: Vec<ThreadId> },
    /// No graph of the program has this name; a thread was stored by it, or it was asked for.
    UnknownGraph { graph: String, thread: Option<ThreadId>, near: Option<String>, known: Vec<String> },
    /// New input while questions are pending or a superstep is unfinished. V4.
    Unfinished { thread: ThreadId, reason: String },
    /// No such checkpoint.
    UnknownCheckpoint { thread: ThreadId, checkpoint: CheckpointId },
    /// The answer fits no pending question. V2.
    UnknownQuestion { question: String },
    /// The question was answered before. V2.
    AlreadyAnswered { id: InterruptId },
    /// Several questions are pending and the answer does not name one. V2.
    AmbiguousAnswer { count: usize, named: String },
    /// The answer is of the wrong type. V2.
    MistypedAnswer { id: InterruptId, question: String, reason: String },
    /// `update_state` cannot infer the node of the update.
    AmbiguousUpdate,
    /// `update_state` named an unknown node.
    UnknownNode { node: String },
    /// An update is invalid.
    InvalidUpdate { what: String },
    /// A stored value cannot be decoded, or a new one not be encoded.
    Codec { what: String, reason: String },
    /// A stored value does not fit this version of the code.
    Unreadable(Box<Unreadable>),
    /// A task or a superstep exceeds a limit.
    TooMany { from: Arc<str>, what: &'static str, count: usize, limit: usize },
    /// All values of a state together exceed the limit of the run.
    StateTooLarge { bytes: u64, limit: u64, channel: String, most: u64 },
    /// The thread was imported and is read-only.
    Foreign { thread: ThreadId },
    /// A paused thread that this version of the graph cannot resume. Nothing was written; it stays readable.
    NeedsMigration { thread: ThreadId, misfits: Vec<Incompatibility> },
    /// The store failed.
    Checkpoint(CheckpointError),
    /// A command for the enclosing graph; never visible outside the engine.
    #[doc(hidden)]
    HandUp(ParentCommand),
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Node { error, .. } => Some(error),
            Self::Unreadable(error) => error.source(),
            Self::Checkpoint(error) => error.source(),
            _ => None,
        }
    }
}

impl From<CheckpointError> for RunError {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}

impl From<ValueError> for RunError {
    fn from(ValueError(error): ValueError) -> Self {
        match error {
            CheckpointError::Codec { what, reason } => Self::Codec { what, reason },
            other => Self::Checkpoint(other),
        }
    }
}

/// Formats the message and the help, as printed by a `main` that returns the error.
impl std::fmt::Debug for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")?;
        self.help().map_or(Ok(()), |help| write!(f, "\n help: {help}"))
    }
}

/// A command for the enclosing graph.
#[doc(hidden)]
#[derive(Clone)]
pub struct ParentCommand {
    /// A command without its types.
    pub(crate) command: Arc<dyn std::any::Any + Send + Sync>,
    /// The types of its state and node ids.
    pub(crate) types: std::any::TypeId,
    /// The type as which it was given.
    pub(crate) given: &'static str,
}

impl std::fmt::Debug for ParentCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.given)
    }
}

impl RunError {
    /// Returns the error of a graph that is none of the known ones.
    pub fn unknown_graph<'a>(name: &str, thread: Option<ThreadId>, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        let near = near(name, known.iter().map(String::as_str)).first().map(|&near| near.to_owned());
        Self::UnknownGraph { graph: name.to_owned(), thread, near, known }
    }

    /// Returns the suggested fix.
    pub fn help(&self) -> Option<String> {
        Some(Printable(self.suggestion()?).to_string())
    }

    fn suggestion(&self) -> Option<String> {
        Some(match self {
            Self::Node { .. } | Self::Panicked { .. } => "fix the cause, then call `thread.proceed()`".into(),
            Self::Panic { .. } => "fix what panicked: a method of the state's types, a filter, or a custom store".into(),
            Self::QuestionIgnored { .. } => "return the error of `ctx.interrupt(..)` with `?`".into(),
            Self::QuestionClosed { .. } => {
                "ask with `ctx.ask(..)` and handle the error, or ask again with `thread.retry()`".into()
            }
            Self::QuestionExpired { .. } => "nothing was written; `thread.proceed()` continues with its default".into(),
            Self::NotAnApprover { .. } => "nothing was written; answer with `.by(name)`, each person once".into(),
            Self::SignalIgnored { .. } => "return the error of `ctx.receive(..)` with `?`".into(),
            Self::UndeclaredSignal { type_name, .. } => {
                let short = type_name.rsplit("::").next().unwrap_or(type_name);
                format!("add `.receives::<{short}>()` to the node")
            }
            Self::UnknownSignal { declared, .. } if declared.is_empty() => {
                "declare it on the node that receives it: `.receives::<T>()`".into()
            }
            Self::UnknownSignal { declared, .. } => format!("its nodes receive {}", declared.join(", ")),
            Self::MistypedSignal { id: Some(_), .. } => {
                "let the type read it, or remove it with `thread.discard_signal(id)`; then `proceed()`".into()
            }
            Self::MistypedSignal { id: None, .. } => "nothing was sent; send what the type reads".into(),
            Self::MailboxFull { .. } => "let the thread receive some, or remove some with `thread.discard_signal(id)`".into(),
            Self::NoSuchSignal { .. } => "a task has received it, or it was removed; `thread.mailbox()` lists what is there".into(),
            Self::UndeclaredQuestion { type_name, .. } => {
                let short = type_name.rsplit("::").next().unwrap_or(type_name);
                format!("add `.asks::<{short}>()` to the node")
            }
            Self::QuestionNameTaken { question, .. } => {
                format!("give one of the two types another name than `{question}`, and declare both with `.asks`")
            }
            Self::QuestionChanged { .. } => {
                "ask the same question as before, or restart the superstep with `thread.retry()`".into()
            }
            Self::CallInEffect { .. } => {
                "call it outside the effect and pass its result to the effect: a subgraph records its own steps and effects".into()
            }
            Self::NonDeterministic { .. } => {
                "restore the node's earlier code, take varying values from `ctx.now()`, `ctx.random()` or `ctx.record(..)`, \
                 or give the changed effect another key"
                    .into()
            }
            Self::EffectTwice { .. } => "give each effect of a node a different key: an order's id, a number".into(),
            Self::Diverged { .. } | Self::NotRecorded { .. } => "nothing was run; run the thread for real to record it".into(),
            Self::ConcurrentUpdate { nodes, .. } | Self::Refused { nodes, .. } if *nodes == [INPUT] => {
                "fix the input, then invoke with `.discard_pending()`".into()
            }
            Self::ConcurrentUpdate { channel, .. } => {
                format!("give `{channel}` a reducer, or write it from one node, then `thread.retry()`")
            }
            Self::Refused { .. } => "fix the reducer or the write, then call `thread.retry()`".into(),
            Self::UnknownTarget { to, .. } => format!("add the node `{to}`, or correct the name"),
            Self::UndeclaredTarget { to, .. } => {
                format!("declare it: `.goes_to({to})` on the node, or beside its router in `add_conditional_edges_to`")
            }
            Self::RecursionLimit { .. } => "check the exit of the loop, or raise `.recursion_limit(..)`".into(),
            Self::NoCheckpointer { .. } => "add `.with_checkpointer(..)` to the graph".into(),
            Self::UnknownThread { near, .. } if near.is_empty() => "check the name and the store".into(),
            Self::UnknownThread { near, .. } => did_you_mean(near),
            Self::UnknownGraph { known, .. } if known.is_empty() => "register it: there are no graphs".into(),
            Self::UnknownGraph { near: Some(near), known, .. } => {
                format!("did you mean `{near}`? the graphs are {}", known.join(", "))
            }
            Self::UnknownGraph { known, .. } => format!("the graphs are {}", known.join(", ")),
            Self::EmptyInput { .. } => "start it with `thread.invoke(input)`".into(),
            Self::Unfinished { .. } => {
                "answer, `proceed()` or `retry()`; or discard the unfinished work with `.discard_pending()`".into()
            }
            Self::UnknownQuestion { .. } | Self::AlreadyAnswered { .. } => {
                "nothing was written; `thread.status()` shows the pending questions".into()
            }
            Self::MistypedAnswer { .. } => "nothing was written; answer with the type that the question takes".into(),
            Self::UnknownCheckpoint { .. } => "`thread.history()` lists the checkpoints".into(),
            Self::InvalidConfig { .. } => {
                "correct the setting, or use the handle that supports it: `graph.thread(..)`".into()
            }
            Self::InvalidUpdate { .. } => "the documentation of `StateUpdate` describes each kind of update".into(),
            Self::UnknownNode { .. } => "name a node of the graph: `graph.nodes()` lists them".into(),
            Self::SendToEnd { .. } => "send to a worker, or route to END".into(),
            Self::WrongParent { .. } => "return a command with the state and node ids of the enclosing graph".into(),
            Self::NeedsMigration { misfits, .. } => return misfits.first().map(Incompatibility::help),
            Self::NoParentGraph { .. } => "return a command without `parent`, or run the graph as a subgraph".into(),
            Self::StateTooLarge { .. } => "keep large values elsewhere and references to them in the state, or raise \
                                           `.max_state_bytes(..)`; then `thread.retry()`"
                .into(),
            Self::TooMany { .. } => "create fewer at once, over several supersteps".into(),
            Self::NotStartable { to, .. } => format!("send `{to}` the type that its worker takes, or add an edge to a node"),
            Self::AmbiguousAnswer { .. } => "answer by id: `thread.answer(Answer::new(..).to(id))`".into(),
            Self::AmbiguousUpdate => "name the node: `.as_node(..)`".into(),
            Self::Codec { .. } => {
                "let the type write and read the value, then `proceed()`, or `retry()` the whole superstep".into()
            }
            Self::Foreign { .. } => {
                "if you trust its author and its content, call `thread.trust()` (`--trust`)".into()
            }
            Self::Unreadable(unreadable) => unreadable.help(),
            Self::Checkpoint(error) => return error.help().map(str::to_owned),
            Self::HandUp(_) => return None,
        })
    }

    /// Returns the class for a retry policy of the node that called the subgraph: that of the node which failed there.
    /// Errors of the graph itself are never retried.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Node { error, .. } => error.class(),
            Self::Checkpoint(_) => ErrorClass::Unclassified,
            _ => ErrorClass::Permanent,
        }
    }

    /// Returns the first error of a type among the causes, those of failed subgraphs included.
    pub fn find<E: Error + 'static>(&self) -> Option<&E> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref::<E>() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for NodeError {
    fn from(source: E) -> Self {
        let source = source.into();
        let class = class_of(&*source);
        Self { source, class }
    }
}

/// Returns the class of a subgraph's failure among the causes, if there is one.
fn class_of(error: &(dyn Error + Send + Sync + 'static)) -> ErrorClass {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(failure) = error.downcast_ref::<RunError>() {
            return failure.class();
        }
        cause = error.source();
    }
    ErrorClass::Unclassified
}
