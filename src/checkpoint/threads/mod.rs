//! Threads as sets of records: references, reachability, reading and inserting all of them. For retention, transport,
//! backup and repair.
//!
//! Knows records and keys. Must not know states, nodes, or the type of a user's value.
//!
//! | file | what it knows |
//! |---|---|
//! | `pages` | many records of a thread, read page by page |
//! | `thread_records` | its records, decoded, and which of them refers to which |
//! | `reach` | what can be reached from some checkpoints |
//! | `marks` | tags of checkpoints, and trust in an imported thread |
//! | `insert` | a whole thread, written in commits of bounded size |
//!
//! Small because it only lists the folder.

pub(super) mod insert;
pub(super) mod marks;
pub(super) mod pages;
pub(super) mod reach;
pub(super) mod thread_records;
