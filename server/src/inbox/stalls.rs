//! Threads that have nodes left to run, and that nothing runs. Knows what the records of a thread prove; must not know how it is resumed.

use superstep::checkpoint::ListedThread;

use crate::records::thread::ThreadRecord;

/// The time after which something that should run a thread would have started, in milliseconds.
pub(super) const PATIENCE: u64 = 60_000;

/// The reason why nothing runs a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallCause {
    /// Its last run was cancelled.
    Cancelled,
    /// A server left it with nodes to run: at a breakpoint, after its state was written, or as a copy.
    Left,
    /// It was resumed several times, and made no progress.
    NoProgress,
    /// No process has started it for a minute.
    Unclaimed,
    /// It has a run that is marked as running, and no process has held it for a minute.
    LostRun,
}

impl StallCause {
    /// Returns why nothing runs a thread that has no run and nodes left to run; `None` if a server is still to resume it.
    pub(super) fn of(
        listed: &ListedThread,
        record: Option<&ThreadRecord>,
        (has_given_up, now): (bool, u64),
    ) -> Option<Self> {
        let since = listed.due.unwrap_or_default().max(listed.updated_at);
        let current = record.filter(|record| record.state_updated_at() >= listed.updated_at);
        let seen_at = record.and_then(|record| record.state).map_or(0, |state| state.seen_at);
        if current.and_then(|record| record.error.as_ref()).is_some_and(|failure| failure.error == "UserInterrupt") {
            return Some(Self::Cancelled);
        }
        if has_given_up {
            return Some(Self::NoProgress);
        }
        // The mark of a state that is still being made is in the future.
        if seen_at >= since && seen_at <= now {
            return Some(Self::Left);
        }
        (since.saturating_add(PATIENCE) <= now).then_some(Self::Unclaimed)
    }

    /// Returns the reason as a sentence.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Cancelled => "its run was cancelled, and nodes are left to run",
            Self::Left => "nodes are left to run, and nothing runs it",
            Self::NoProgress => "it was resumed several times and made no progress",
            Self::Unclaimed => "nodes are left to run, and no process has run it for more than a minute",
            Self::LostRun => "its run is marked as running, and no process has run it for more than a minute",
        }
    }
}
