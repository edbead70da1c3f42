//! Threads as sets of records: references, reachability, reading and inserting all of them. For retention, transport,
//! backup and repair.
//!
//! Knows records and keys. Must not know states, nodes, or the type of a user's value.

pub(super) mod foreign;
#[cfg(feature = "agents")]
pub(super) mod hex_ids;
pub(super) mod id_set;
pub(super) mod insert;
pub(super) mod pages;
pub(super) mod reach;
pub(super) mod references;
pub(super) mod row_set;
pub(super) mod snapshot;
pub(super) mod tags;
pub(super) mod thread_records;
