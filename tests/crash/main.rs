//! Crashes: runs cut at every commit, killed processes, and teams of them (`machines`). Acknowledged work is stored exactly once, and every thread
//! ends as it would have ended undisturbed.

#![allow(clippy::unwrap_used)]

mod bodies;
mod cuts;
#[cfg(all(unix, feature = "sled"))]
mod damage;
#[cfg(unix)]
mod databases;
mod drive;
mod effects;
mod graphs;
#[cfg(all(unix, feature = "sled"))]
mod kill;
#[cfg(unix)]
mod machines;
mod retention;
mod rng;
#[cfg(all(unix, feature = "sled"))]
#[path = "../support/written.rs"]
mod written;
