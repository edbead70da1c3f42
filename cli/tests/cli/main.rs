//! The binary `superstep` as people and scripts use it: real processes over fresh stores, real git, agents that follow a scenario.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod agents;
mod answers;
mod code_task;
mod demo;
mod first_commands;
mod forks;
mod ground;
mod kills;
mod made;
mod model;
#[path = "../../../tests/support/model_server/mod.rs"]
mod model_server;
mod moved;
mod phases;
mod place;
mod printed;
#[path = "../../../tests/support/program.rs"]
mod program;
mod program_alone;
mod records;
mod serve;
mod server;
mod stored;
mod stores;
mod stories;

use place::Place;
