//! Threads as lists show them: their status in one word, what they wait for, since when they can go on, and queries for
//! them.
//!
//! Knows the records of a thread and the reads of a store; must not know how a store finds an answer.
//!
//! | file | what it knows |
//! |---|---|
//! | `status_kind`, `summary` | a thread in a list |
//! | `reads` | reads of a store, which summaries are made from |
//! | `waits` | tasks that wait, and signals that have come for them |
//! | `summary_reader` | the summary of a thread, from its records |
//! | `query` | conditions of a list, and a list made by reading every thread |
//! | `due` | threads that can go on |
//!
//! Small because it only lists the folder.

pub(super) mod due;
pub(crate) mod query;
pub(super) mod reads;
pub(crate) mod status_kind;
pub(super) mod summary;
pub(super) mod summary_reader;
pub(super) mod waits;
