//! The rooms of [superstep](https://docs.rs/superstep) that know no graph: what workflows of coding agents are made of.
//!
//! - [`drivers`]: models and coding agents behind one trait.
//! - [`plan`]: plans in markdown, as tasks.
//! - [`process`]: child programs, and what of their output may be shown.
//! - [`workspace`]: commits and work trees of git.
//!
//! The library `superstep` shows them as its own modules under the feature `agents`; programs name them there. This crate is
//! below it, so a change of the engine does not compile it again. It must not know states, nodes or stores.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod drivers;
pub mod plan;
pub mod process;
pub mod workspace;
