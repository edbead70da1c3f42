//! What the engine promises whoever runs a graph, through the typed public API: one claim per test.

#![allow(clippy::unwrap_used)]

mod answers;
mod askers;
mod branches;
mod cache;
mod calls;
mod changed;
mod commands;
mod diff;
mod durability;
mod edges;
mod effects;
mod failures;
mod foremost;
mod handlers;
mod handles;
mod inside;
mod kinds;
mod kit;
mod leases;
mod limits;
mod loops;
mod moved;
mod nested;
mod order;
mod own_state;
mod owners;
mod pad;
mod past;
mod poisoned;
mod questions;
mod repair;
mod replay;
mod retention;
mod secrets;
mod sends;
mod stores;
mod streams;
mod traced;
mod transport;
mod travel;
mod values;
mod verify;
mod waits;
mod words;
