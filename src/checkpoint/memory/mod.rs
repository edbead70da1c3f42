//! A store in memory.
//!
//! | file | what it knows |
//! |---|---|
//! | `store` | the store, as a [`Checkpointer`](super::Checkpointer) |
//! | `records` | the records of one thread, in the order of their keys |
//!
//! Small because it only lists the folder.

mod records;
mod store;

pub use store::MemoryCheckpointer;
