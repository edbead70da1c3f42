//! Crashes: runs that are cut at every commit, and processes that are killed. What was acknowledged is there, once, and
//! every thread comes to the end it would have come to undisturbed.

#![allow(clippy::unwrap_used)]

mod bodies;
mod cuts;
#[cfg(all(unix, feature = "sled"))]
mod damage;
mod drive;
mod effects;
mod graphs;
mod kept;
#[cfg(all(unix, feature = "sled"))]
mod kill;
mod rng;
