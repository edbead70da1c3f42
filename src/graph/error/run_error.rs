//! The errors of runs. Ids are turned into names before they get here; Display says what and where.

use std::sync::Arc;

use superstep_base::Printable;

use super::incompatibility::Incompatibility;
use super::node_error::{ErrorClass, SharedNodeError};
use super::unreadable::Unreadable;
use crate::checkpoint::error::meant;
use crate::checkpoint::{CheckpointError, CheckpointId, ThreadId};
use crate::graph::interrupt::{InterruptId, SignalId};
use crate::graph::state::ValueError;
use crate::graph::state::type_name::short;

/// The writer of START's input, in error messages.
pub(crate) const INPUT: &str = "the input";

/// A failure of a run, or of reading and writing a thread. Completed steps stay stored.
///
/// Display says what and where, [`help`](Self::help) suggests a fix. `V2` and the like are numbers of deliberate
/// differences from LangGraph; [`coming_from_langgraph`](crate::coming_from_langgraph) lists them.
#[derive(Clone, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the names that the message prints")]
pub enum RunError {
    /// A node failed, after its retries.
    #[error("node `{node}`{} failed in superstep {step}: {error}", inside(namespace))]
    Node {
        node: Arc<str>,
        /// The nodes whose subgraphs it is in, outermost first.
        namespace: Arc<[String]>,
        step: i64,
        #[source]
        error: SharedNodeError,
    },
    /// A node panicked.
    #[error("node `{node}`{} panicked in superstep {step}: {message}", inside(namespace))]
    Panicked { node: Arc<str>, namespace: Arc<[String]>, step: i64, message: String },
    /// User code panicked outside of a node: a method of a state, a filter, a store.
    #[error("a panic while {doing}: {message}")]
    Panic { doing: &'static str, message: String },
    /// A node returned `Ok` although its question has no answer.
    #[error("node `{node}` went on although its question `{question}` has no answer", question = Printable(question))]
    QuestionIgnored { node: Arc<str>, question: String },
    /// A node returned `Ok` although the signal it waits for has not arrived.
    #[error("node `{node}` went on although the signal `{signal}` has not come", signal = Printable(signal))]
    SignalIgnored { node: Arc<str>, signal: String },
    /// A node receives a signal it did not declare.
    #[error("node `{node}` receives `{signal}` ({}) without declaring it", short(type_name), signal = Printable(signal))]
    UndeclaredSignal { node: Arc<str>, signal: &'static str, type_name: &'static str },
    /// No node of the graph receives such a signal. Nothing was sent.
    #[error("no node of the graph receives a signal `{signal}`", signal = Printable(signal))]
    UnknownSignal { signal: String, declared: Vec<String> },
    /// A signal has the wrong type for its name: one to be sent, or one in the mailbox.
    #[error("signal `{signal}`{} is of another type: {reason}", id.map(|id| format!(" ({id})")).unwrap_or_default(), signal = Printable(signal), reason = Printable(reason))]
    MistypedSignal { id: Option<SignalId>, signal: String, reason: String },
    /// The thread has reached its limit of unreceived signals. Nothing was sent.
    #[error("the mailbox of thread `{thread}` is full: {limit} signals wait there", thread = Printable(thread))]
    MailboxFull { thread: ThreadId, limit: usize },
    /// There is no such signal in the mailbox.
    #[error("signal {id} is not in the mailbox of thread `{thread}`", thread = Printable(thread))]
    NoSuchSignal { thread: ThreadId, id: SignalId },
    /// A node asked a question that is closed without an answer, through a method that returns only answers.
    #[error("node `{node}` has no answer: {reason}", reason = Printable(reason))]
    QuestionClosed { node: Arc<str>, reason: String },
    /// The question has expired: its default, if it has one, is the answer.
    #[error("question {id} has expired")]
    QuestionExpired { id: InterruptId },
    /// The person may not answer the question.
    #[error("question {id} does not take this answer: {reason}", reason = Printable(reason))]
    NotAnApprover { id: InterruptId, reason: String },
    /// A node asked a question it did not declare.
    #[error("node `{node}` asked `{question}` ({}) without declaring it", short(type_name), question = Printable(question))]
    UndeclaredQuestion { node: Arc<str>, question: &'static str, type_name: &'static str },
    /// A node asked a question by the name of another declared type.
    #[error("node `{node}` asked `{question}` as `{type_name}`, and declares it as `{declared}`", question = Printable(question))]
    QuestionNameTaken { node: Arc<str>, question: &'static str, type_name: &'static str, declared: &'static str },
    /// A node asks another question than the one that was answered; payloads as JSON, if they can be read.
    #[error(
        "question {place} of node `{node}` was `{before}`{} before the pause and is `{now}`{} now",
        payload(before_payload),
        payload(now_payload), now = Printable(now))]
    QuestionChanged {
        node: Arc<str>,
        place: usize,
        before: String,
        before_payload: Option<String>,
        now: &'static str,
        now_payload: Option<String>,
    },
    /// The body of an effect called a subgraph.
    #[error("the body of effect `{key}` of node `{node}` calls a subgraph", key = Printable(key))]
    CallInEffect { node: Arc<str>, key: String },
    /// An effect or recorded value is requested with other arguments than recorded.
    #[error("`{key}` of node `{node}` was recorded for {recorded} and is asked for {now} now", key = Printable(key), recorded = Printable(recorded), now = Printable(now))]
    NonDeterministic { node: Arc<str>, key: String, recorded: String, now: String },
    /// Two effects or recorded values of one attempt have the same key.
    #[error("node `{node}` used the key `{key}` twice in one attempt", key = Printable(key))]
    EffectTwice { node: Arc<str>, key: String },
    /// A replay diverged from the record.
    #[error("{what} of node `{node}` was {recorded} and is {now} now", what = Printable(what), recorded = Printable(recorded), now = Printable(now))]
    Diverged { node: Arc<str>, what: String, recorded: String, now: String },
    /// A replay reached an effect or value that was never recorded.
    #[error("node `{node}` comes to {what}, of which nothing was recorded", what = Printable(what))]
    NotRecorded { node: Arc<str>, what: String, now: String },
    /// Two tasks of one superstep wrote a channel that takes one write. LangGraph: `InvalidUpdateError`.
    #[error("channel `{channel}` was written more than once in superstep {step}, by {}", nodes.join(" and "), channel = Printable(channel))]
    ConcurrentUpdate { channel: String, step: i64, nodes: Vec<String> },
    /// A reducer returned an error.
    #[error("channel `{channel}` refused a write of {} in superstep {step}: {reason}", nodes.join(" and "), channel = Printable(channel), reason = Printable(reason))]
    Refused { channel: String, step: i64, nodes: Vec<String>, reason: String },
    /// A router, command or send leads to a node that does not exist.
    #[error("`{from}` leads to `{to}`, which is not a node")]
    UnknownTarget { from: Arc<str>, to: String },
    /// A command leads to a node not declared with `.goes_to`, or a router to one not among its declared targets.
    #[error("`{from}` leads to `{to}`, which is not among its declared targets")]
    UndeclaredTarget { from: Arc<str>, to: String },
    /// A send goes to END.
    #[error("`{from}` sends to END")]
    SendToEnd { from: Arc<str> },
    /// A send goes to a node that does not take its payload, or an edge to one that takes only payloads.
    #[error("`{from}` cannot start `{to}`: {reason}", reason = Printable(reason))]
    NotStartable { from: Arc<str>, to: String, reason: String },
    /// A command for the enclosing graph, which does not exist.
    #[error("node `{node}` returned a command for the parent graph, but its graph has none")]
    NoParentGraph { node: Arc<str> },
    /// A command for an enclosing graph of another type.
    #[error("node `{node}` returned a command for a parent of another type ({given})")]
    WrongParent { node: Arc<str>, given: &'static str },
    /// The run did not end within the limit. Its state so far is stored. LangGraph: `GraphRecursionError`.
    #[error("no end after {limit} superstep{}", if *limit == 1 { "" } else { "s" })]
    RecursionLimit { limit: u64 },
    /// A setting of the run is invalid.
    #[error("{what}", what = Printable(what))]
    InvalidConfig { what: String },
    /// The graph can interrupt, or the operation needs a store, and there is no checkpointer.
    #[error("{what} needs a checkpointer", what = Printable(what))]
    NoCheckpointer { what: &'static str },
    /// There is nothing to resume. LangGraph: `EmptyInputError`.
    #[error("thread `{thread}` has never run", thread = Printable(thread))]
    EmptyInput { thread: ThreadId },
    /// There is no such thread.
    #[error("there is no thread `{thread}`", thread = Printable(thread))]
    UnknownThread { thread: ThreadId, near: Vec<ThreadId> },
    /// New input while questions are pending or a superstep is unfinished. V4.
    #[error("thread `{thread}` is not at rest: {reason}", thread = Printable(thread), reason = Printable(reason))]
    Unfinished { thread: ThreadId, reason: String },
    /// No such checkpoint.
    #[error("thread `{thread}` has no checkpoint {checkpoint}", thread = Printable(thread))]
    UnknownCheckpoint { thread: ThreadId, checkpoint: CheckpointId },
    /// The answer fits no pending question. V2.
    #[error("no open question {question}", question = Printable(question))]
    UnknownQuestion { question: String },
    /// The question was answered before. V2.
    #[error("question {id} was answered already")]
    AlreadyAnswered { id: InterruptId },
    /// Several questions are pending and the answer does not name one. V2.
    #[error("{count} questions are open{named}: say which one the answer is for", named = Printable(named))]
    AmbiguousAnswer { count: usize, named: String },
    /// The answer is of the wrong type. V2.
    #[error("question {id} (`{question}`) takes another answer: {reason}", question = Printable(question), reason = Printable(reason))]
    MistypedAnswer { id: InterruptId, question: String, reason: String },
    /// `update_state` cannot infer the node of the update.
    #[error("it is not clear which node the update is from")]
    AmbiguousUpdate,
    /// `update_state` named an unknown node.
    #[error("`{node}` is not a node")]
    UnknownNode { node: String },
    /// An update is invalid.
    #[error("{what}", what = Printable(what))]
    InvalidUpdate { what: String },
    /// A stored value cannot be decoded, or a new one not be encoded.
    #[error("{what}: {reason}", what = Printable(what), reason = Printable(reason))]
    Codec { what: String, reason: String },
    /// A stored value does not fit this version of the code.
    #[error(transparent)]
    Unreadable(Box<Unreadable>),
    /// A task or a superstep exceeds a limit.
    #[error("`{from}` brings {what} to {count}, more than the limit of {limit}", what = Printable(what))]
    TooMany { from: Arc<str>, what: &'static str, count: usize, limit: usize },
    /// All values of a state together exceed the limit of the run.
    #[error("the state has {bytes} bytes, {most} of them in channel `{channel}`, more than the limit of {limit}", channel = Printable(channel))]
    StateTooLarge { bytes: u64, limit: u64, channel: String, most: u64 },
    /// The thread was imported and is read-only.
    #[error(
        "thread `{thread}` was made elsewhere and imported: it may be shown and replayed from its records, not run, answered or \
         forked", thread = Printable(thread))]
    Foreign { thread: ThreadId },
    /// A paused thread that this version of the graph cannot resume. Nothing was written; it stays readable.
    #[error("thread `{thread}` was stored by another version of the graph: {}", list(misfits), thread = Printable(thread))]
    NeedsMigration { thread: ThreadId, misfits: Vec<Incompatibility> },
    /// The store failed.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A command for the enclosing graph; never visible outside the engine.
    #[doc(hidden)]
    #[error("a command for the enclosing graph")]
    HandUp(HandedUp),
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

fn list(misfits: &[Incompatibility]) -> String {
    misfits.iter().map(Incompatibility::to_string).collect::<Vec<_>>().join("; ")
}

/// A command for the enclosing graph.
#[doc(hidden)]
#[derive(Clone)]
pub struct HandedUp {
    /// A command without its types.
    pub(crate) command: Arc<dyn std::any::Any + Send + Sync>,
    /// The types of its state and node ids.
    pub(crate) types: std::any::TypeId,
    /// The type as which it was given.
    pub(crate) given: &'static str,
}

impl std::fmt::Debug for HandedUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.given)
    }
}

impl RunError {
    /// Returns the suggested fix.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Node { .. } | Self::Panicked { .. } => "mend the cause, then `thread.proceed()`".into(),
            Self::Panic { .. } => "mend what panicked: a method of the state's types, a filter, or a store of your own".into(),
            Self::QuestionIgnored { .. } => "return the error of `ctx.interrupt(..)` with `?`".into(),
            Self::QuestionClosed { .. } => {
                "ask with `ctx.ask(..)` and handle the error, or ask anew with `thread.retry()`".into()
            }
            Self::QuestionExpired { .. } => "nothing was written; `thread.proceed()` goes on with its default".into(),
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
                "ask what was asked before, or begin the step anew with `thread.retry()`".into()
            }
            Self::CallInEffect { .. } => {
                "call it beside the effect and give the effect its result: a subgraph records its own steps and effects".into()
            }
            Self::NonDeterministic { .. } => {
                "put back what the node did before, take what varies from `ctx.now()`, `ctx.random()` or `ctx.record(..)`, \
                 or give the changed effect another key"
                    .into()
            }
            Self::EffectTwice { .. } => "give each effect of a node a key of its own: an order's id, a number".into(),
            Self::Diverged { .. } | Self::NotRecorded { .. } => "nothing was run; run the thread for real to record it".into(),
            Self::ConcurrentUpdate { nodes, .. } | Self::Refused { nodes, .. } if *nodes == [INPUT] => {
                "mend the input, and invoke with `.discard_pending()`".into()
            }
            Self::ConcurrentUpdate { channel, .. } => {
                format!("give `{channel}` a reducer, or write it from one node, then `thread.retry()`")
            }
            Self::Refused { .. } => "mend the reducer or the write, then `thread.retry()`".into(),
            Self::UnknownTarget { to, .. } => format!("add the node `{to}`, or correct the name"),
            Self::UndeclaredTarget { to, .. } => {
                format!("declare it: `.goes_to({to})` on the node, or beside its router in `add_conditional_edges_to`")
            }
            Self::RecursionLimit { .. } => "check the loop's way out, or raise `.recursion_limit(..)`".into(),
            Self::NoCheckpointer { .. } => "add `.with_checkpointer(..)` to the graph".into(),
            Self::UnknownThread { near, .. } if near.is_empty() => "check the name, and that it is this store".into(),
            Self::UnknownThread { near, .. } => meant(near),
            Self::EmptyInput { .. } => "begin it with `thread.invoke(input)`".into(),
            Self::Unfinished { .. } => {
                "answer, `proceed()` or `retry()`; or drop what is unfinished with `.discard_pending()`".into()
            }
            Self::UnknownQuestion { .. } | Self::AlreadyAnswered { .. } => {
                "nothing was written; `thread.status()` shows the questions that are open".into()
            }
            Self::MistypedAnswer { .. } => "nothing was written; answer with the type that the question takes".into(),
            Self::UnknownCheckpoint { .. } => "`thread.history()` lists the checkpoints there are".into(),
            Self::InvalidConfig { .. } => {
                "correct the setting, or take the handle that fits: `graph.thread(..)`".into()
            }
            Self::InvalidUpdate { .. } => "`StateUpdate` tells what each kind of update takes".into(),
            Self::UnknownNode { .. } => "name a node of the graph: `graph.nodes()` lists them".into(),
            Self::SendToEnd { .. } => "send to a worker, or lead to END itself".into(),
            Self::WrongParent { .. } => "give a command of the enclosing graph's own state and node ids".into(),
            Self::NeedsMigration { misfits, .. } => return misfits.first().map(Incompatibility::help),
            Self::NoParentGraph { .. } => "return a command without `parent`, or run the graph as a subgraph".into(),
            Self::StateTooLarge { .. } => "keep large values elsewhere and what names them in the state, or raise \
                                           `.max_state_bytes(..)`; then `thread.retry()`"
                .into(),
            Self::TooMany { .. } => "make fewer at once, in several supersteps".into(),
            Self::NotStartable { to, .. } => format!("send to `{to}` what its worker takes, or lead an edge to a node"),
            Self::AmbiguousAnswer { .. } => "answer by id: `thread.answer(Answer::new(..).to(id))`".into(),
            Self::AmbiguousUpdate => "say so: `.as_node(..)`".into(),
            Self::Codec { .. } => {
                "let the type write and read the value, then `proceed()`, or `retry()` the whole superstep".into()
            }
            Self::Foreign { .. } => {
                "if you trust who made it and what it holds, say so with `thread.trust()` (`--trust`)".into()
            }
            Self::Unreadable(unreadable) => unreadable.help(),
            Self::Checkpoint(error) => return error.help().map(str::to_owned),
            Self::HandUp(_) => return None,
        })
    }
}

impl RunError {
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
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref::<E>() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}

/// Returns the path of a node in subgraphs, for a message.
fn inside(namespace: &[String]) -> String {
    if namespace.is_empty() {
        return String::new();
    }
    format!(" in the subgraph `{}`", namespace.join("/"))
}

/// Returns the payload after the name of a question; empty for an empty one.
fn payload(json: &Option<String>) -> String {
    json.as_ref()
        .filter(|json| !matches!(json.as_str(), "null" | "[]"))
        .map(|json| format!(" {json}"))
        .unwrap_or_default()
}
