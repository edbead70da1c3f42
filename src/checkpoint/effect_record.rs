//! What is stored of an entry of a task's journal.

use serde::{Deserialize, Serialize};

/// What kind of entry a journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectKind {
    /// A side effect: its result is on disk before it is used.
    Effect,
    /// A value that was recorded.
    Value,
    /// A time.
    Time,
    /// A number drawn at random.
    Random,
    /// Until when a task sleeps.
    Sleep,
    /// How a side effect failed last: it is done again by the next attempt, and fails so in a replay.
    Failure,
    /// A signal that was received, or that did not come in time. Since format 3.
    Signal,
}

impl EffectKind {
    /// How many kinds there are.
    pub(crate) const COUNT: usize = 7;
}

/// One entry of a task's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// What kind of entry it is.
    pub kind: EffectKind,
    /// Its place in the order in which the journal grew.
    pub order: u32,
    /// The hash of its arguments in canonical form.
    pub arguments: u64,
    /// Its arguments as a person reads them, cut to a limit.
    pub shown: String,
    /// Under which key the world outside knows it.
    pub idempotency: String,
    /// The result, as user values are stored.
    pub value: Vec<u8>,
    /// When it was recorded, in milliseconds since 1970; for an effect, when it started.
    pub at: u64,
    /// The runs of an effect, oldest first: those that failed, then the one that gave the result. One for any other entry.
    /// Since format 3.
    pub runs: Vec<EffectRun>,
}

/// One run of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRun {
    /// The attempt of the task that it belongs to, from 1.
    pub attempt: u32,
    /// How long before [`at`](EffectRecord::at) of its record it started, in milliseconds.
    pub before: u64,
    /// How long it took, in milliseconds.
    pub took: u64,
    /// How it ended.
    pub end: EffectEnd,
}

/// How a run of an effect ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectEnd {
    /// With the result.
    Done,
    /// The probe found that it had been done before.
    Found,
    /// With an error.
    Failed,
    /// Its attempt was dropped meanwhile, by a timeout or a cancellation: it may have been done.
    Dropped,
}
