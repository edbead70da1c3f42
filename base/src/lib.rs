//! Helpers that every crate of superstep shares: files that a person names, suggestions for misspelled names, words of a
//! shell, folders that were moved, a hash whose values are stored, growing pauses, panics as values, the calendar,
//! settings with a line for each problem, and texts cut to a length. Part of [superstep](https://docs.rs/superstep), which makes no promise about this crate.

pub mod backoff;
#[cfg(feature = "composed")]
pub mod composed;
pub mod files;
mod fnv;
pub mod moved;
pub mod near;
pub mod panics;
mod printable;
pub mod settings;
pub mod shell;
pub mod text;
pub mod time;

pub use fnv::Fnv;
pub use printable::{Printable, PrintableLines};
