//! Graphs that run inside the nodes of other graphs.
//!
//! A child has no head of its own: the record of its task points at its newest checkpoint, so a fork of the parent
//! copies the pointer and never shares the child.

mod call;

pub use call::{CallError, Mapped};
