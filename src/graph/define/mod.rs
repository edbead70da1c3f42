//! What a user defines a graph with: nodes, commands, routers, questions, options, the builder and its complaints.
//!
//! Knows nothing of how a graph runs or where it is kept.

pub(crate) mod blocking;
pub(crate) mod builder;
pub(crate) mod command;
pub(crate) mod defaults;
pub(crate) mod history;
pub(crate) mod interrupt;
pub(crate) mod node;
mod node_error;
pub(crate) mod not_an_id;
pub(crate) mod options;
pub(crate) mod problem;
pub(crate) mod retry;
pub(crate) mod route;
pub(crate) mod signal;
pub(crate) mod sketch;
pub(crate) mod terms;
