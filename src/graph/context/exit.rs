//! The reasons for which a run stops, and the budgets that can stop it.

use std::time::Duration;

use tokio::time::Instant;

/// The reason why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Finished,
    Interrupted,
    /// Tasks sleep, at least until this time in milliseconds since 1970.
    Waiting(u64),
    /// Tasks wait for signals, the first of them until this time, if any.
    Awaiting(Option<u64>),
    /// At a breakpoint.
    Stopped,
    Cancelled,
    Drained,
    Budget(Budget),
}

/// The budget that a run used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// So many supersteps.
    Supersteps(u64),
    /// So much time since the run began.
    WallTime(Duration),
}

/// The limits that end a run in an orderly way before its graph does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budgets {
    pub supersteps: Option<u64>,
    pub until: Option<(Instant, Duration)>,
}
