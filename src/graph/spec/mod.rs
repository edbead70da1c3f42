//! Graphs that are documents.

mod compile;
mod graph_spec;
mod problem;
mod registry;

pub use graph_spec::{ChannelSpec, EdgeSpec, GraphSpec, NodeSpec, OneOrMany, RouterSpec};
pub use problem::{SpecError, SpecProblem};
pub use registry::Registry;
