//! A thread's status in one word.

use std::fmt;

use super::past::Status;

/// The status of a thread in one word: [`Status`] without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    pub const ALL: [Self; 11] = [
        Self::New,
        Self::Finished,
        Self::Pending,
        Self::Interrupted,
        Self::Stopped,
        Self::Waiting,
        Self::AwaitingSignal,
        Self::Failed,
        Self::NeedsMigration,
        Self::Running,
        Self::Damaged,
    ];

    /// Returns the word: `finished`, `pending` and so on.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Finished => "finished",
            Self::Pending => "pending",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Waiting => "waiting",
            Self::AwaitingSignal => "awaiting-signal",
            Self::Failed => "failed",
            Self::NeedsMigration => "needs-migration",
            Self::Running => "running",
            Self::Damaged => "damaged",
        }
    }
}

impl fmt::Display for StatusKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Status {
    /// Returns the status in one word.
    pub fn standing(&self) -> StatusKind {
        match self {
            Self::New => StatusKind::New,
            Self::Finished => StatusKind::Finished,
            Self::Pending { .. } => StatusKind::Pending,
            Self::Interrupted { .. } => StatusKind::Interrupted,
            Self::Waiting { .. } => StatusKind::Waiting,
            Self::AwaitingSignal { .. } => StatusKind::AwaitingSignal,
            Self::Stopped { .. } => StatusKind::Stopped,
            Self::Failed { .. } => StatusKind::Failed,
            Self::NeedsMigration { .. } => StatusKind::NeedsMigration,
            Self::Running => StatusKind::Running,
        }
    }
}
