//! A store in memory.
//!
//! | file | what it knows |
//! |---|---|
//! | `store` | the store, as a [`Checkpointer`](super::Checkpointer) |
//! | `records` | the records of one thread, in the order of their keys |
//! | `numbered` | those of them whose keys are numbers |
//!
//! Small because it only lists the folder.

mod numbered;
mod records;
mod store;

pub use store::MemoryCheckpointer;
