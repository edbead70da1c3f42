//! What can be saved of a damaged store, from the bytes of its files alone: rows name themselves and carry checksums, so they
//! are found without the store's own index.
//!
//! Knows rows, records and how they hang together. Must not know sled, states or nodes.

pub(super) mod carve;
mod found;
mod judge;
mod report;
pub(super) mod salvage;

pub use report::{LostCheckpoint, Repaired, RepairedThread};
