//! Graphs that run inside the nodes of other graphs.

mod call;

pub use call::{CallError, Mapped};
