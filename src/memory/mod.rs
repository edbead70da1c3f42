//! Long-term memory: items of JSON under namespaces, which every thread of every graph sees. LangGraph: `BaseStore`.
//!
//! A [`Store`] is what a node gets with [`Ctx::store`](crate::graph::Ctx::store). [`CheckpointerStore`] keeps its items beside the
//! threads of any checkpointer; a graph with a checkpointer has one unless it is given another. The guide has a page:
//! [`guide::memory`](crate::guide::memory).
//!
//! Knows namespaces, items and stores of checkpoints. Must not know graphs or states.
//!
//! | file | what it knows |
//! |---|---|
//! | `namespace` | the names of items, and queries for namespaces |
//! | `item` | items, and requests for them |
//! | `filter` | conditions on the fields of a value |
//! | `text` | the texts in a value, and searches in them |
//! | `embed` | the contract of an embedding |
//! | `store` | the contract of a store |
//! | `error` | errors of stores |
//! | `items` | the store over a checkpointer |
//! | `kit` | conformance checks for stores |
//!
//! Small because it only lists the folder.

mod embed;
mod error;
mod filter;
mod item;
mod items;
#[cfg(feature = "test-util")]
pub mod kit;
mod namespace;
mod store;
mod text;

pub use embed::{Embed, EmbedError};
pub use error::StoreError;
pub use filter::StoreFilter;
pub use item::{IndexFields, StoreItem, StoreRead, StoreSearch, StoreWrite};
pub use items::store::CheckpointerStore;
pub use namespace::{ItemName, Namespace, NamespaceQuery};
pub use store::Store;
