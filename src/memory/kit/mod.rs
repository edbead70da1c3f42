//! Conformance checks for stores of long-term memory, to run against your own.
//!
//! ```
//! use std::sync::Arc;
//! use superstep::checkpoint::{BoxFuture, MemoryCheckpointer};
//! use superstep::memory::{CheckpointerStore, Store, StoreError, kit};
//!
//! struct Memory;
//! impl kit::StoreHarness for Memory {
//!     fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, StoreError>> {
//!         let store = CheckpointerStore::new(Arc::new(MemoryCheckpointer::new()));
//!         Box::pin(async { Ok(Arc::new(store) as _) })
//!     }
//! }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! assert!(kit::check_all(&Memory).await.is_empty());
//! # });
//! ```
//!
//! Knows the contract only. Must not know any store.
//!
//! | file | what it knows |
//! |---|---|
//! | `check` | what a check is |
//! | `single`, `several` | the checks of one item, and of several |
//! | `all` | all checks |
//!
//! Small because it only lists the folder.

mod all;
mod check;
mod several;
mod single;

pub use all::check_all;
pub use check::StoreHarness;
