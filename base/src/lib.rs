//! Helpers that the engine and `superstep-agents` share: files that a person names, a hash whose values are stored, and
//! growing pauses. Part of [superstep](https://docs.rs/superstep), which makes no promise about this crate.

pub mod backoff;
pub mod files;
mod fnv;

pub use fnv::Fnv;
