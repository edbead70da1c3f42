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
mod contents;
mod cuts;
mod defaults;
mod depends;
mod drawing;
mod dropped;
mod guard;
mod halts;
mod journal;
mod many;
mod model;
#[path = "../support/model_server/mod.rs"]
mod model_server;
mod outages;
mod phases_budget;
mod phases_crowd;
mod phases_failure;
mod phases_guard;
mod phases_many;
mod phases_questions;
mod phases_repositories;
mod phases_setup;
mod phases_stage;
mod play;
mod reference;
mod refused;
mod replanned;
mod replay;
mod replay_changed;
mod repository;
mod reviews;
mod scene;
mod tasks;
mod work;

mod phases_branch;
mod phases_edits;
mod phases_halts;
mod phases_hooks;
mod phases_integration;
mod phases_plans;
mod phases_reviews;
mod phases_scene;
