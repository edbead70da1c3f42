//! The builder, the validation that reports every problem at once, the compiled graph and its drawings.
//!
//! Knows no run and no store.

pub(crate) mod ascii;
mod breakpoints;
pub(crate) mod builder;
mod child;
pub(crate) mod compiled;
pub(crate) mod dot;
mod draw;
mod fingerprint;
mod history;
mod join;
mod names;
mod problem;
mod renames;
mod resolve;
pub(crate) mod rows;
pub(crate) mod table;
#[cfg(not(feature = "test-util"))]
mod untestable;
mod validate;

pub use builder::{Edges, StateGraph};
pub use child::{Child, Persistence};
pub use compiled::{CompiledGraph, RECURSION_LIMIT};
pub use problem::{CompileError, Lint, Problem};
#[cfg(not(feature = "test-util"))]
pub use untestable::TestUtil;

pub(crate) use breakpoints::{StopOverrides, Stops};
pub(crate) use compiled::GraphCore;
pub(crate) use draw::DrawOptions;
pub(crate) use join::{Join, Wiring};
pub(crate) use table::{Branch, Table};
