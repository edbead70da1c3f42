//! From the builder to tables: names resolved to indexes, every problem found at once, the drawing.
//!
//! Knows no run and no store.

pub(crate) mod ascii;
pub(crate) mod compiled;
pub(crate) mod described;
pub(crate) mod dot;
pub(crate) mod draw;
pub(crate) mod names;
mod renames;
pub(crate) mod resolve;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod table;
#[cfg(not(feature = "test-util"))]
pub(crate) mod untestable;
pub(crate) mod validate;
