//! The store over the items of a checkpointer: one body of code for every kind of checkpointer. Knows no database.
//!
//! An item of the store is an item of the checkpointer, and has others beside it that are written with it, all or none: one in the
//! order of expiry, one with its vectors, and an entry in the log of changed vectors, by which every process keeps its cache of
//! them true.
//!
//! | file | what it knows |
//! |---|---|
//! | `name` | names of items as keys, so that a prefix ends at a label |
//! | `record` | items and vectors as bytes, with a version |
//! | `change` | all writes of one change |
//! | `log` | the log of changed vectors |
//! | `vectors` | vectors in memory, and their order by similarity |
//! | `index` | the embedding, and the cache of vectors |
//! | `store` | the store: writes and reads of single items |
//! | `search` | searches and lists |
//! | `expiry` | lifetimes |
//!
//! Small because it only lists the folder.

mod change;
mod expiry;
mod index;
mod log;
mod name;
mod record;
mod search;
pub(super) mod store;
mod vectors;
