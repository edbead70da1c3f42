//! What the engine promises whoever runs a graph, through the typed public API: one claim per test.

#![allow(clippy::unwrap_used)]

mod failures;
mod leases;
mod limits;
mod pad;
mod poisoned;
mod questions;
mod stores;
