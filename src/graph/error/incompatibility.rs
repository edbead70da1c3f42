//! The incompatibilities of a stored thread with this version of the graph, and the error of a stored value that does not fit
//! the code. Knows no store.

use std::cmp::Ordering;
use std::fmt;

use superstep_base::Printable;

use crate::checkpoint::{CheckpointId, ThreadId};

/// The reason why a paused thread cannot resume with this version of the graph. State, history and status stay readable.
#[derive(Clone, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the names that the message prints")]
pub enum Incompatibility {
    /// A node that runs next, or that a finished task chose, no longer exists.
    Node { node: String },
    /// A partly filled join was removed, or waits for additional nodes.
    Join { sources: Vec<String>, target: String, added: Vec<String> },
    /// A node can no longer be started as it was: by an edge, or with that payload.
    NotStartable { node: String, reason: String },
    /// A task's pending write cannot be applied by its channel's present rule.
    Rule { channel: String, stored: String, expected: String },
    /// A channel that the thread has written is unknown to the state, which has channels that the thread never stored: it
    /// may have been renamed.
    Channel { stored: String, new: Vec<String>, likely: Option<String> },
    /// The graph is pinned, and another version of it stored the thread.
    Pinned { stored: u64, now: u64 },
    /// A stored value that is needed to resume cannot be read.
    Value(Box<Unreadable>),
    /// A misfit in the subgraph of a node.
    Inside { node: String, misfit: Box<Self> },
}

impl fmt::Display for Incompatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(Text(self)).fmt(f)
    }
}

/// The text of an incompatibility with names as they are stored.
struct Text<'a>(&'a Incompatibility);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Incompatibility::Node { node } => write!(f, "its node `{node}` no longer exists"),
            Incompatibility::Join { sources, target, added } if added.is_empty() => {
                write!(f, "its half-filled join of {} into `{target}` no longer exists", join_nodes(sources))
            }
            Incompatibility::Join { sources, target, added } => {
                let added = join_nodes(added);
                write!(f, "its half-filled join of {} into `{target}` waits for {added} too now", join_nodes(sources))
            }
            Incompatibility::NotStartable { node, reason } => write!(f, "its task of `{node}` cannot start: {reason}"),
            Incompatibility::Rule { channel, stored, expected } => {
                write!(
                    f,
                    "a stored write to channel `{channel}` has the rule `{stored}`, but the channel has the rule `{expected}` now"
                )
            }
            Incompatibility::Channel { stored, new, .. } => {
                let new = join_nodes(new);
                write!(
                    f,
                    "the thread stored channel `{stored}`, which the state does not have, and never stored {new}, which the state has"
                )
            }
            Incompatibility::Pinned { stored, now } => {
                write!(
                    f,
                    "the graph is pinned to version {now:016x}, but the thread was stored by version {stored:016x}"
                )
            }
            Incompatibility::Value(unreadable) => unreadable.fmt(f),
            Incompatibility::Inside { node, misfit } => write!(f, "in the subgraph of `{node}`, {misfit}"),
        }
    }
}

fn join_nodes(nodes: &[String]) -> String {
    nodes.iter().map(|node| format!("`{node}`")).collect::<Vec<_>>().join(" and ")
}

impl Incompatibility {
    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        match self {
            Self::Node { node } => format!(
                "if it was renamed, add `.renamed(\"{node}\", <node>)` to the graph; otherwise restore it, run the \
                 thread with the graph that stored it, or move it with `update_state_as`"
            ),
            Self::Join { .. } => "restore the join, run the thread with the graph that stored it, or move it \
                                  with `update_state_as`"
                .into(),
            Self::NotStartable { .. } => {
                "make it startable as before, run the thread with the graph that stored it, or \
                                          move it with `update_state_as`"
                    .into()
            }
            Self::Rule { .. } => {
                "run the thread with the graph that stored it, or restart the superstep with `thread.retry()`".into()
            }
            Self::Channel { stored, new, likely } => {
                let renamed = match likely {
                    Some(likely) => format!("`{likely}` now, add `#[channel(was = \"{stored}\")]` to that"),
                    None => format!("something else now, add `#[channel(was = \"{stored}\")]` to that field"),
                };
                format!(
                    "if `{stored}` is called {renamed}; if it is gone, add `#[state(removed(\"{stored}\"))]` to the struct; if \
                     it stays as it is and {} is new, add `#[channel(new)]` to that",
                    join_nodes(new)
                )
            }
            Self::Pinned { .. } => {
                "run the thread with the graph that stored it, or remove `.pinned()` from the graph".into()
            }
            Self::Value(unreadable) => unreadable.help(),
            Self::Inside { misfit, .. } => misfit.help(),
        }
    }
}

/// A stored value that this version of the code cannot read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
#[error(
    "{what} at checkpoint {checkpoint} of thread `{thread}`: stored as `{stored}` (version {stored_version}), cannot be \
     read as `{expected}` (version {expected_version}): {reason}",
    what = Printable(what),
    thread = Printable(thread),
    stored = Printable(stored),
    reason = Printable(reason)
)]
pub struct Unreadable {
    /// The kind of value: a channel, the payload of a worker.
    pub what: String,
    /// The thread.
    pub thread: ThreadId,
    /// The checkpoint that holds it.
    pub checkpoint: CheckpointId,
    /// The type that stored it.
    pub stored: String,
    /// The version of that type's schema.
    pub stored_version: u32,
    /// The current type.
    pub expected: String,
    /// The version of that type's schema.
    pub expected_version: u32,
    /// The reason why it cannot be read.
    pub reason: String,
}

impl Unreadable {
    /// Returns the suggested fix.
    pub fn help(&self) -> String {
        let back = "or run the thread with the code that stored it";
        let next = self.stored_version.max(self.expected_version) + 1;
        match self.stored_version.cmp(&self.expected_version) {
            Ordering::Greater => "run the thread with the code that stored it, or a later one".into(),
            _ if !self.what.starts_with("channel") => format!("let the type read it, {back}"),
            Ordering::Less => {
                format!("let `upgrade = <fn>` of the channel take version {}, {back}", self.stored_version)
            }
            Ordering::Equal => {
                format!(
                    "give the channel `version = {next}` and `upgrade = <fn>`, which is given the old value, {back}"
                )
            }
        }
    }
}
