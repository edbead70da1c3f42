//! The workflow that executes a plan phase by phase, in real repositories. `scene` has agents that run one after the
//! other, `stage` has parallel ones.

mod branch;
mod budget;
mod crowd;
mod edits;
mod failure;
mod guard;
mod halts;
mod hooks;
mod integration;
mod kills;
mod many;
mod plan_file;
mod plans;
mod questions;
pub(crate) mod random;
mod repositories;
mod reviews;
mod scene;
mod setup;
pub(crate) mod stage;
mod tampering;
