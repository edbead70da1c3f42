//! superstep: a typed-state graph engine that mirrors LangGraph.

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[allow(unused_extern_crates, reason = "the derives name the crate by its public name, here too")]
extern crate self as superstep;

pub mod checkpoint;
pub mod graph;
#[cfg(feature = "agents")]
pub mod nodes;
#[cfg(feature = "agents")]
pub mod plan;
pub mod prelude;
#[cfg(feature = "agents")]
pub mod routes;

#[doc(hidden)]
pub mod __private {
    pub use serde;
    pub use serde_json;
    pub use strum;
}
