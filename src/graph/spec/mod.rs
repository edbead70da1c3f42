//! Graphs defined by documents: channels, nodes by registered name, edges, routers by a channel's value.
//!
//! Knows no format: serde reads JSON, YAML or TOML.

mod compile;
mod graph_spec;
mod problem;
mod registry;

pub use graph_spec::{ChannelSpec, EdgeSpec, GraphSpec, NodeSpec, OneOrMany, RouterSpec};
pub use problem::{SpecError, SpecProblem};
pub use registry::Registry;
