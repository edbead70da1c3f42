//! The git room against real repositories, hooks and the real git program.
#![allow(clippy::unwrap_used)]
#![cfg(all(unix, feature = "agents"))]

mod branches;
mod commits;
mod detached;
mod dirt;
mod discarding;
mod furnishing;
mod guard;
mod opening;
mod repo;
mod snapshots;
mod worktrees;
