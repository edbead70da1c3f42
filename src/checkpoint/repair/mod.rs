//! Recovery of a damaged store from the bytes of its files: rows name themselves and carry checksums, so they are found
//! without the store's own index.
//!
//! Knows rows, records and the references between them. Must not know sled, states or nodes.

mod integrity;
mod recovered;
mod report;
pub(super) mod salvage;
pub(super) mod scan;

pub use report::{LostCheckpoint, Repaired, RepairedThread};
