//! superstep: a typed-state graph engine that mirrors LangGraph.

pub mod checkpoint;
#[cfg(feature = "agents")]
pub mod plan;
