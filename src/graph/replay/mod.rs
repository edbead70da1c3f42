//! Replays a thread from its records. Nothing here writes to a store, but a replay that is live.
//!
//! | file | what it knows |
//! |---|---|
//! | `replaying` | the public API |
//! | `walk` | the recorded checkpoints, superstep by superstep |
//! | `recorded_events` | their events |
//! | `verify` | the supersteps beside what the graph does now |
//! | `what_if` | the same, continued after differences |
//! | `body` | one body run again, and the subgraphs that it calls |
//! | `compare` | differences; values that were never saved; pure |
//!
//! Small because it only lists the folder.

pub(crate) mod body;
mod compare;
pub(crate) mod recorded_events;
pub(crate) mod replaying;
mod verify;
mod walk;
mod what_if;

pub use replaying::{ReplayRequest, ReplayResult};
