//! The contract of a store: items under namespaces, for all threads. Knows no implementation.

use std::fmt::Debug;

use super::error::StoreError;
use super::item::{StoreItem, StoreRead, StoreSearch, StoreWrite};
use super::namespace::{ItemName, Namespace, NamespaceQuery};
use crate::checkpoint::BoxFuture;

/// Store of items that outlive threads: what users like, what an agent has learned. LangGraph: `BaseStore`.
///
/// - A write is durable and visible to every later read when its future resolves.
/// - The last write of an item wins. Its time of creation stays that of the first, until it is deleted or expires.
/// - An expired item is never returned.
/// - A namespace prefix ends at a label: `["a"]` is around `["a", "b"]`, not around `["ab"]`.
///
/// Run `superstep::memory::kit` (feature `test-util`) against an implementation of your own, which checks all of this.
pub trait Store: Debug + Send + Sync + 'static {
    /// Writes an item.
    ///
    /// # Errors
    /// Those of [`StoreWrite::check`]; [`StoreError::NameTooLong`]; if its texts cannot be embedded or the store cannot be written.
    fn put(&self, write: StoreWrite) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns an item; `None` if it is not there.
    ///
    /// # Errors
    /// [`StoreError::EmptyNamespace`], [`StoreError::NameTooLong`]; if the store cannot be read.
    fn get(&self, read: StoreRead) -> BoxFuture<'_, Result<Option<StoreItem>, StoreError>>;

    /// Deletes an item. One that is not there is no error.
    ///
    /// # Errors
    /// [`StoreError::EmptyNamespace`], [`StoreError::NameTooLong`]; if the store cannot be written.
    fn delete(&self, name: ItemName) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the items that a search finds, each with its score if there is a query.
    ///
    /// # Errors
    /// If the query cannot be embedded or the store cannot be read.
    fn search(&self, search: StoreSearch) -> BoxFuture<'_, Result<Vec<StoreItem>, StoreError>>;

    /// Returns namespaces that have items, in their order.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn list_namespaces(&self, query: NamespaceQuery) -> BoxFuture<'_, Result<Vec<Namespace>, StoreError>>;

    /// Removes items that have expired, and returns their number. Writes do so now and then; a program that only reads calls it.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn remove_expired(&self) -> BoxFuture<'_, Result<usize, StoreError>>;
}
