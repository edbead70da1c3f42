//! The rooms of [superstep](https://docs.rs/superstep) that judge work: pure data and functions, beside the trait of verifiers.
//!
//! - [`findings`]: reports of verifiers, and the output of tools read into them.
//! - [`task`]: task files, `verifiers.yml`, and splits of a task; `superstep::spec`.
//! - [`decide`]: what follows an attempt.
//! - [`verifiers`]: verifiers implemented in code.
//!
//! The library `superstep` shows them as its own modules under the feature `agents`; programs name them there. This crate is
//! below it, so a change of the engine does not compile it again. It must not know states, nodes, stores, agents or git, and
//! it runs nothing.
//!
//! Small because it only lists the rooms.

#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod words;

pub mod decide;
pub mod findings;
pub mod task;
pub mod verifiers;
