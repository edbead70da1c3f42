//! What the engine promises whoever runs a graph, through the typed public API: one claim per test.

#![allow(clippy::unwrap_used)]

mod branches;
mod durability;
mod failures;
mod handlers;
mod inside;
mod leases;
mod limits;
mod nested;
mod order;
mod pad;
mod past;
mod poisoned;
mod questions;
mod secrets;
mod stores;
mod streams;
mod words;
