//! Stored form of one entry of a task's journal.

use serde::{Deserialize, Serialize};

/// Kind of a journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectKind {
    /// A side effect: its result is on disk before it is used.
    Effect,
    /// A recorded value.
    Value,
    /// A time.
    Time,
    /// A random number.
    Random,
    /// Time until which a task sleeps.
    Sleep,
    /// Last failure of a side effect: the next attempt runs it again; a replay fails with it.
    Failure,
    /// A signal that was received, or that did not arrive in time. Since format 3.
    Signal,
}

impl EffectKind {
    pub(crate) const COUNT: usize = 7;
}

/// An entry of a task's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRecord {
    /// Kind of the entry.
    pub kind: EffectKind,
    /// Position in the order in which entries were added to the journal.
    pub order: u32,
    /// Hash of its arguments in canonical form.
    pub arguments: u64,
    /// Its arguments as readable text, cut to a limit.
    pub shown: String,
    /// Idempotency key that external services receive.
    pub idempotency: String,
    /// Result, encoded like user values.
    pub value: Vec<u8>,
    /// Time of recording, in milliseconds since 1970; for an effect, its start.
    pub at: u64,
    /// Runs of an effect, oldest first: the failed ones, then the one with the result. One for any other entry. Since
    /// format 3.
    pub runs: Vec<EffectRun>,
}

/// One run of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectRun {
    /// Attempt of the task that it belongs to, from 1.
    pub attempt: u32,
    /// Time between its start and [`at`](EffectRecord::at) of its record, in milliseconds.
    pub before: u64,
    /// Duration in milliseconds.
    pub took: u64,
    /// Outcome.
    pub end: EffectEnd,
}

/// Outcome of a run of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectEnd {
    /// It returned the result.
    Done,
    /// The probe found that the effect had already happened.
    Found,
    /// It returned an error.
    Failed,
    /// Its attempt was dropped by a timeout or a cancellation: the effect may have happened.
    Dropped,
}
