//! Replaying a thread from its records.
//!
//! `replaying` is the public API. `walk` reads the recorded checkpoints superstep by superstep, `recorded_events` emits
//! their events. `verify` compares the supersteps with what the graph does now, `what_if` continues after differences:
//! `body` runs bodies again, `child` follows them into subgraphs, `compare` is pure. Nothing here writes to a store.

mod body;
pub(crate) mod child;
mod compare;
mod described;
mod recorded_events;
mod replaying;
mod stream;
mod thread;
mod unsaved;
mod verify;
mod walk;
mod what_if;

pub use replaying::{Replay, Replaying};
pub use stream::{ReplayStream, Replayed};
