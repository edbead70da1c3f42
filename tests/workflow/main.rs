//! The task-based workflow on real repositories, with agents that follow a script.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

mod again;
mod agent;
mod approvals;
mod begins;
