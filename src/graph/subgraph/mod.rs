//! Graphs that run inside the nodes of other graphs.
//!
//! A child has no head of its own: the record of the task that it runs in points at its newest checkpoint, so a fork of the
//! parent copies the pointer and the two share no child.

mod call;

pub use call::{CallError, Mapped};
