//! The texts of the errors of runs. Names come from the program, from stores and from files: what a terminal or a log would act
//! on is escaped, in every text.

use std::fmt::{self, Display, Formatter};

use superstep_base::{Printable, PrintableLines};

use super::incompatibility::Incompatibility;
use super::run_error::RunError;
use crate::graph::state::stored_value::short_name;

impl Display for RunError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node { .. } | Self::Panicked { .. } | Self::Panic { .. } => PrintableLines(Text(self)).fmt(f),
            _ => Printable(Text(self)).fmt(f),
        }
    }
}

/// The text of an error with names as they are.
struct Text<'a>(&'a RunError);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            RunError::Node { node, namespace, step, error } => {
                write!(f, "node `{node}`{} failed in superstep {step}: {error}", subgraph_path(namespace))
            }
            RunError::Panicked { node, namespace, step, message } => {
                write!(f, "node `{node}`{} panicked in superstep {step}: {message}", subgraph_path(namespace))
            }
            RunError::Panic { doing, message } => write!(f, "a panic while {doing}: {message}"),
            RunError::QuestionIgnored { node, question } => {
                write!(f, "node `{node}` continued although its question `{question}` has no answer")
            }
            RunError::SignalIgnored { node, signal } => {
                write!(f, "node `{node}` continued although the signal `{signal}` has not arrived")
            }
            RunError::UndeclaredSignal { node, signal, type_name } => {
                write!(f, "node `{node}` receives `{signal}` ({}) without declaring it", short_name(type_name))
            }
            RunError::UnknownSignal { signal, .. } => write!(f, "no node of the graph receives a signal `{signal}`"),
            RunError::MistypedSignal { id, signal, reason } => write!(
                f,
                "signal `{signal}`{} is of another type: {reason}",
                id.map(|id| format!(" ({id})")).unwrap_or_default()
            ),
            RunError::MailboxFull { thread, limit } => {
                write!(f, "the mailbox of thread `{thread}` is full: {limit} signals wait there")
            }
            RunError::NoSuchSignal { thread, id } => {
                write!(f, "signal {id} is not in the mailbox of thread `{thread}`")
            }
            RunError::QuestionClosed { node, reason } => write!(f, "node `{node}` has no answer: {reason}"),
            RunError::QuestionExpired { id } => write!(f, "question {id} has expired"),
            RunError::NotAnApprover { id, reason } => write!(f, "question {id} does not take this answer: {reason}"),
            RunError::UndeclaredQuestion { node, question, type_name } => {
                write!(f, "node `{node}` asked `{question}` ({}) without declaring it", short_name(type_name))
            }
            RunError::QuestionNameTaken { node, question, type_name, declared } => {
                write!(f, "node `{node}` asked `{question}` as `{type_name}`, and declares it as `{declared}`")
            }
            RunError::QuestionChanged { node, place, before, before_payload, now, now_payload } => write!(
                f,
                "question {place} of node `{node}` was `{before}`{} before the pause and is `{now}`{} now",
                payload(before_payload),
                payload(now_payload)
            ),
            RunError::CallInEffect { node, key } => {
                write!(f, "the body of effect `{key}` of node `{node}` calls a subgraph")
            }
            RunError::NonDeterministic { node, key, recorded, now } => {
                write!(f, "`{key}` of node `{node}` was recorded for {recorded}, but is used for {now} now")
            }
            RunError::EffectTwice { node, key } => write!(f, "node `{node}` used the key `{key}` twice in one attempt"),
            RunError::Diverged { node, what, recorded, now } => {
                write!(f, "{what} of node `{node}` was {recorded} and is {now} now")
            }
            RunError::NotRecorded { node, what, .. } => {
                write!(f, "node `{node}` reached {what}, which was not recorded")
            }
            RunError::ConcurrentUpdate { channel, step, nodes } => write!(
                f,
                "channel `{channel}` was written more than once in superstep {step}, by {}",
                nodes.join(" and ")
            ),
            RunError::Refused { channel, step, nodes, reason } => write!(
                f,
                "channel `{channel}` refused a write of {} in superstep {step}: {reason}",
                nodes.join(" and ")
            ),
            RunError::UnknownTarget { from, to } => write!(f, "`{from}` leads to `{to}`, which is not a node"),
            RunError::UndeclaredTarget { from, to } => {
                write!(f, "`{from}` leads to `{to}`, which is not among its declared targets")
            }
            RunError::SendToEnd { from } => write!(f, "`{from}` sends to END"),
            RunError::NotStartable { from, to, reason } => write!(f, "`{from}` cannot start `{to}`: {reason}"),
            RunError::NoParentGraph { node } => {
                write!(f, "node `{node}` returned a command for the parent graph, but its graph has none")
            }
            RunError::WrongParent { node, given } => {
                write!(f, "node `{node}` returned a command for a parent of another type ({given})")
            }
            RunError::RecursionLimit { limit } => {
                write!(f, "no end after {limit} superstep{}", if *limit == 1 { "" } else { "s" })
            }
            RunError::InvalidConfig { what } => write!(f, "{what}"),
            RunError::NoCheckpointer { what } => write!(f, "{what} needs a checkpointer"),
            RunError::EmptyInput { thread } => write!(f, "thread `{thread}` has never run"),
            RunError::UnknownThread { thread, .. } => write!(f, "there is no thread `{thread}`"),
            RunError::UnknownGraph { graph, thread: None, .. } => write!(f, "there is no graph `{graph}`"),
            RunError::UnknownGraph { graph, thread: Some(thread), .. } => {
                write!(f, "thread `{thread}` belongs to the graph `{graph}`, which is not registered")
            }
            RunError::Unfinished { thread, reason } => write!(f, "thread `{thread}` is unfinished: {reason}"),
            RunError::UnknownCheckpoint { thread, checkpoint } => {
                write!(f, "thread `{thread}` has no checkpoint {checkpoint}")
            }
            RunError::UnknownQuestion { question } => write!(f, "there is no pending question {question}"),
            RunError::AlreadyAnswered { id } => write!(f, "question {id} was answered already"),
            RunError::AmbiguousAnswer { count, named } => {
                write!(f, "{count} questions are pending{named}: select the one to answer")
            }
            RunError::MistypedAnswer { id, question, reason } => {
                write!(f, "invalid answer to question {id} (`{question}`): {reason}")
            }
            RunError::AmbiguousUpdate => f.write_str("ambiguous update: its node cannot be determined"),
            RunError::UnknownNode { node } => write!(f, "`{node}` is not a node"),
            RunError::InvalidUpdate { what } => write!(f, "{what}"),
            RunError::Codec { what, reason } => write!(f, "{what}: {reason}"),
            RunError::Unreadable(error) => error.fmt(f),
            RunError::TooMany { from, what, count, limit } => {
                write!(f, "`{from}` brings {what} to {count}, more than the limit of {limit}")
            }
            RunError::StateTooLarge { bytes, limit, channel, most } => write!(
                f,
                "the state has {bytes} bytes, {most} of them in channel `{channel}`, more than the limit of \
                 {limit}"
            ),
            RunError::Foreign { thread } => write!(
                f,
                "thread `{thread}` was created elsewhere and is not trusted: it can be inspected and replayed from its records, but not run, \
                 answered or forked"
            ),
            RunError::NeedsMigration { thread, misfits } => {
                write!(f, "thread `{thread}` was stored by another version of the graph: {}", list(misfits))
            }
            RunError::Checkpoint(error) => error.fmt(f),
            RunError::HandUp(_) => f.write_str("a command for the enclosing graph"),
        }
    }
}

fn list(misfits: &[Incompatibility]) -> String {
    misfits.iter().map(Incompatibility::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the path of a node in subgraphs, for a message.
fn subgraph_path(namespace: &[String]) -> String {
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
