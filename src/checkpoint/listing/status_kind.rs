//! The status of a thread in one word. Knows no record.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a thread in one word: without the data that a graph adds.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::IntoStaticStr,
    strum::VariantArray,
    Serialize,
    Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StatusKind {
    /// The thread has never run.
    New,
    /// Nothing is left to run.
    Finished,
    /// Tasks are left to run.
    Pending,
    /// Questions are pending.
    Interrupted,
    /// The thread stopped at a breakpoint.
    Stopped,
    /// All unfinished tasks wait for a time.
    Waiting,
    /// No task can run before a signal arrives.
    AwaitingSignal,
    /// A task failed, or its results cannot be applied.
    Failed,
    /// Another version of the graph stored the thread, and the present one cannot resume it.
    NeedsMigration,
    /// A run holds the thread.
    Running,
    /// One of the thread's records cannot be read.
    Damaged,
}

impl StatusKind {
    /// All values.
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the word: `finished`, `pending` and so on.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for StatusKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
