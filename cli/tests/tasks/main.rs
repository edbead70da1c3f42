//! `superstep run tasks` as scripts use it: the real binary, real git, agents that follow a scenario.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod agents;
mod answers;
mod code_task;
mod demo;
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
mod records;
mod serve;
mod server;
mod stored;
mod stories;

use place::Place;
