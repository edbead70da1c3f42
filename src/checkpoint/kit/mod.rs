//! Conformance checks for checkpointers, to run against your own store.
//!
//! ```
//! use std::sync::Arc;
//! use superstep::checkpoint::{BoxFuture, CheckpointError, Checkpointer, MemoryCheckpointer, kit};
//!
//! struct Memory;
//! impl kit::Harness for Memory {
//!     fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Checkpointer>, CheckpointError>> {
//!         Box::pin(async { Ok(Arc::new(MemoryCheckpointer::new()) as _) })
//!     }
//! }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! assert!(kit::check_all(&Memory).await.is_empty());
//! # });
//! ```
//!
//! Knows the contract only. Must not know any store.
//!
//! | file | what it knows |
//! |---|---|
//! | `check` | what a check is, and the setup of most |
//! | `records`, `threads`, `items`, `lists`, `durability`, `shared` | the checks, by what they look at |
//! | `all` | all checks |
//!
//! Small because it only lists the folder.

mod all;
mod check;
mod durability;
mod items;
mod lists;
mod records;
mod shared;
mod threads;

pub use all::{check, check_all, checks};
pub use check::{CheckFailure, ContractCheck, Harness};
