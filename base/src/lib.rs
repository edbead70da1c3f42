//! Helpers that every crate of superstep shares: files that a person names, suggestions for misspelled names, words of a
//! shell, folders that were moved, a hash whose values are stored, maps filled by insertion, growing pauses, panics as values, the calendar,
//! settings with a line for each problem, and texts cut to a length. Part of [superstep](https://docs.rs/superstep), which makes no promise about this crate.

#[doc(hidden)]
pub mod backoff;
#[cfg(feature = "composed")]
#[doc(hidden)]
pub mod composed;
#[doc(hidden)]
pub mod files;
mod fnv;
mod gather;
#[doc(hidden)]
pub mod moved;
#[doc(hidden)]
pub mod near;
#[doc(hidden)]
pub mod panics;
mod printable;
mod schema_record;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod shell;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod time;
#[cfg(feature = "tls")]
#[doc(hidden)]
pub mod tls;

#[doc(hidden)]
pub use fnv::Fnv;
#[doc(hidden)]
pub use gather::gather;
#[doc(hidden)]
pub use printable::{Printable, PrintableLines};
