//! The git room against real repositories, hooks and the real git program.
#![allow(clippy::unwrap_used)]
#![cfg(all(unix, feature = "agents"))]

mod advancing;
mod branches;
mod commits;
mod detached;
mod dirt;
mod discarding;
mod furnishing;
mod guard;
mod guarded;
mod integrating;
mod kept_objects;
mod locks;
mod opening;
mod own_branches;
#[path = "../support/program.rs"]
mod program;
mod quitting;
mod relocation;
mod repo;
mod snapshots;
mod turns;
mod unseen;
mod worktrees;
