//! What a task did to the world outside, and what it learned from it: kept so that no attempt, resume or replay does or
//! learns it again.
//!
//! A journal belongs to a task of the root graph; tasks of the subgraphs inside it write to the same one. Knows no superstep
//! and no state.

pub(crate) mod book;
pub(crate) mod copy;
pub(crate) mod effect;
pub(crate) mod entry_key;
pub(crate) mod place;
pub(crate) mod recorded;
mod runs;
pub(crate) mod secrets;
pub(crate) mod task_journal;
pub(crate) mod told;
