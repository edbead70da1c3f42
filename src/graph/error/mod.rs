//! The errors of nodes, of runs, and of threads stored by another version of the graph.
//!
//! Knows no run and no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `node_error` | the failure of a node, and its class for retry policies |
//! | `run_error`, `run_error_text` | the errors of runs, what to do about each; their texts |
//! | `incompatibility` | what another version of the graph stored |
//! | `report` | errors as JSON |
//!
//! Small because it only lists the folder.

mod incompatibility;
pub(crate) mod node_error;
mod report;
mod run_error;
mod run_error_text;

pub use incompatibility::{Incompatibility, Unreadable};
pub use node_error::{ErrorClass, NodeError, SharedNodeError};
pub(crate) use report::{ErrorReport, serialize_reports};
pub use run_error::RunError;
pub(crate) use run_error::{INPUT, ParentCommand};
