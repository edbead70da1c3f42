//! Graphs defined by documents: channels, nodes by registered name, edges, routers by a channel's value.
//!
//! Knows no format: serde reads JSON, YAML or TOML.
//!
//! Small because it only lists the folder.

pub(crate) mod compile;
pub(crate) mod graph_spec;

pub use graph_spec::{ChannelSpec, EdgeSpec, GraphSpecError, GraphSpecProblem, NodeSpec, OneOrMany, RouterSpec};
