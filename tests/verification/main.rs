//! Verification: findings read from the output of commands, their fingerprints, decisions made from them, and verifiers that run on real
//! repositories: commands, scripted models, and code.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with the tests of workflows")]
#[path = "../workflow/agent.rs"]
mod agent;
mod attempts;
mod clusters;
mod code;
mod cuts;
mod decide;
mod findings;
mod fingerprints;
mod merge;
mod model;
mod outputs;
mod page;
mod reports;
#[allow(dead_code, reason = "shared with the tests of workflows")]
#[path = "../workflow/repository.rs"]
mod repository;
mod scene;
mod secrets;
mod shapes;
mod shell;
mod spec;
mod split;
mod what_if;
