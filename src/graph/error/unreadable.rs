//! The error of a stored value that does not fit the code.

use std::cmp::Ordering;

use superstep_base::Printable;

use crate::checkpoint::{CheckpointId, ThreadId};

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
