//! The errors of nodes, of runs, and of threads stored by another version of the graph.
//!
//! Knows no run and no store.

mod into_node_error;
mod misfit;
pub(crate) mod node_error;
mod run_error;
mod unreadable;

pub use misfit::Incompatibility;
pub use node_error::{ErrorClass, NodeError, SharedNodeError};
pub use run_error::RunError;
pub use unreadable::Unreadable;

pub(crate) use run_error::{HandedUp, INPUT};
