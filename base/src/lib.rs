//! Helpers that the engine and `superstep-agents` share: files that a person names, suggestions for misspelled names,
//! words of a shell, folders that were moved, a hash whose values are stored, and growing pauses. Part of
//! [superstep](https://docs.rs/superstep), which makes no promise about this crate.

pub mod backoff;
#[cfg(feature = "composed")]
pub mod composed;
pub mod files;
mod fnv;
pub mod moved;
pub mod near;
mod printable;
pub mod shell;

pub use fnv::Fnv;
pub use printable::{Printable, PrintableLines};
