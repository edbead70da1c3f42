//! Verifiers that run on real repositories: commands, scripted models, and code.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with the tests of workflows")]
#[path = "../workflow/agent.rs"]
mod agent;
mod code;
mod cuts;
mod model;
mod page;
#[allow(dead_code, reason = "shared with the tests of workflows")]
#[path = "../workflow/repository.rs"]
mod repository;
mod scene;
mod shell;
