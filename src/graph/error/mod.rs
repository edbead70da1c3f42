//! The errors of nodes, of runs, and of threads stored by another version of the graph.
//!
//! Knows no run and no store.

mod incompatibility;
mod into_node_error;
pub(crate) mod node_error;
mod run_error;
mod run_error_text;
mod unreadable;

pub use incompatibility::Incompatibility;
pub use node_error::{ErrorClass, NodeError, SharedNodeError};
pub use run_error::RunError;
pub use unreadable::Unreadable;

pub(crate) use run_error::{HandedUp, INPUT};
