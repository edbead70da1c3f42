//! The task-based workflow on real repositories, with agents that follow a script.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

mod agent;
mod guard;
mod repository;
mod tasks;
