//! The task-based workflow on real repositories, with agents that follow a script.
#![cfg(all(feature = "agents", unix))]
#![allow(clippy::unwrap_used)]

mod again;
mod agent;
mod approvals;
mod attacks;
mod begins;
mod budget;
mod budget_shared;
mod code_task;
mod contents;
mod cuts;
mod defaults;
mod depends;
mod drawing;
mod dropped;
mod garbage;
mod guard;
mod halts;
mod journal;
mod many;
mod model;
#[path = "../support/model_server/mod.rs"]
mod model_server;
mod nodes;
mod outages;
mod people;
mod phases;
mod plan;
mod play;
#[path = "../support/program.rs"]
mod program;
mod reference;
mod refused;
mod replanned;
mod replay;
mod replay_changed;
mod repository;
mod reviews;
mod scene;
mod spans;
mod tasks;
mod work;
