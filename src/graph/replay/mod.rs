//! Replaying a thread from its records.
//!
//! `line` finds the checkpoints, `walk` reads them superstep by superstep, `told` makes events of that. Nothing here writes
//! to a store.

#[allow(dead_code)]
pub(crate) mod line;
#[allow(dead_code)]
pub(crate) mod walk;
