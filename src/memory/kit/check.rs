//! A check of a store: its name, its run against a [`StoreHarness`], its failure. Knows the contract only.

use std::sync::Arc;

use serde_json::Value;

use crate::checkpoint::BoxFuture;
use crate::memory::{Namespace, Store, StoreError, StoreItem, StoreRead, StoreSearch, StoreWrite};

/// Provides stores for the checks.
pub trait StoreHarness: Send + Sync {
    /// Returns a new, empty store.
    ///
    /// # Errors
    /// If the store cannot be created; every check fails then.
    fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Store>, StoreError>>;

    /// Opens the store that [`open`](Self::open) returned last once more, beside its first handle; `None` if that is not possible.
    fn open_again(&self) -> BoxFuture<'_, Option<Result<Arc<dyn Store>, StoreError>>> {
        Box::pin(async { None })
    }
}

/// A required property of stores, with the code that checks it.
pub(super) struct StoreCheck {
    pub name: &'static str,
    pub run: for<'a> fn(&'a dyn StoreHarness) -> BoxFuture<'a, CheckResult>,
}

pub(super) type CheckResult = Result<(), CheckReason>;

/// Reason of a failed check.
#[derive(Debug)]
pub(super) struct CheckReason(pub(super) String);

impl From<StoreError> for CheckReason {
    fn from(error: StoreError) -> Self {
        Self(format!("unexpected error: {error}"))
    }
}

/// Lists checks by the names of their functions.
macro_rules! list {
    ($($name:ident),+ $(,)?) => {
        /// The checks of this file.
        pub(super) const CHECKS: &[$crate::memory::kit::check::StoreCheck] = &[$($crate::memory::kit::check::StoreCheck {
            name: stringify!($name),
            run: |harness| Box::pin($name(harness)),
        }),+];
    };
}

/// Fails the check unless two values are equal.
macro_rules! ensure_eq {
    ($left:expr, $right:expr) => {
        match (&$left, &$right) {
            (left, right) if left == right => {}
            (left, right) => {
                let reason = format!("{} is {left:?} instead of {right:?}", stringify!($left));
                return Err($crate::memory::kit::check::CheckReason(reason));
            }
        }
    };
}

pub(super) use ensure_eq;
pub(super) use list;

/// Writes a value.
pub(super) async fn put(
    store: &dyn Store,
    namespace: impl Into<Namespace>,
    key: &str,
    value: Value,
) -> Result<(), StoreError> {
    store.put(StoreWrite::new(namespace, key, value)).await
}

/// Reads an item.
pub(super) async fn get(
    store: &dyn Store,
    namespace: impl Into<Namespace>,
    key: &str,
) -> Result<Option<StoreItem>, StoreError> {
    store.get(StoreRead::new(namespace, key)).await
}

/// Returns the keys that a search finds.
pub(super) async fn keys(store: &dyn Store, search: StoreSearch) -> Result<Vec<String>, StoreError> {
    Ok(store.search(search).await?.into_iter().map(|item| item.key).collect())
}
