//! Drivers and the modules below them, through the public API: real child programs, files and HTTP, no model.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

mod api;
mod cli;
mod kit;
mod ledger;
#[path = "../support/model_server/mod.rs"]
mod model_server;
mod process;
#[path = "../support/program.rs"]
mod program;
mod real;
mod scripted;
mod tools;
mod words;
mod wrappers;
