//! Recovery of a damaged store from the bytes of its files: rows name themselves and carry checksums, so they are found
//! without the store's own index.
//!
//! Knows rows, records and the references between them. Must not know which database it was, states or nodes.
//!
//! | file | what it knows |
//! |---|---|
//! | `new_store` | where the files are, and where the new store is built |
//! | `scan` | rows in files, and the newest version of each record |
//! | `salvage` | threads made of these records, and which checkpoints are whole |
//! | `report` | the report for people and programs |
//!
//! Small because it only lists the folder.

pub(super) mod new_store;
mod report;
mod salvage;
mod scan;

pub use report::{LostCheckpoint, RepairReport, RepairedThread};
