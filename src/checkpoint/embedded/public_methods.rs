//! [`public_methods`]: the methods that every embedded store has under the same name, and its
//! [`Checkpointer`](crate::checkpoint::Checkpointer). Knows the parts of a store; what each store documents for itself is in
//! its own folder.

/// Implements what all embedded stores have in common for a tuple struct around a
/// [`Store`](super::store::Store): its name, its database and its options.
///
/// [`Checkpointer`]: crate::checkpoint::Checkpointer
macro_rules! public_methods {
    ($name:ident, $engine:ident, $options:ident) => {
        const _: () = {
            use std::ops::RangeInclusive;
            use std::path::Path;

            use $crate::checkpoint::embedded::build::back_up;
            use $crate::checkpoint::embedded::store::Store;
            use $crate::checkpoint::{
                BackupReport, BoxFuture, CheckpointError, Checkpointer, Claim, Commit, DueQuery, DueThreads, Item,
                ItemKey, ItemScan, ItemWrite, Key, Lease, LeaseOwner, ListedThread, Order, OwnerRequest, Receipt,
                Record, StoreWatch, ThreadHead, ThreadId, ThreadQuery,
            };

            type Answer<'a, T> = BoxFuture<'a, Result<T, CheckpointError>>;

            impl $name {
                /// Opens the store in the directory `path` with `options`, or creates it.
                ///
                /// # Errors
                #[doc = concat!("As [`", stringify!($name), "::open`].")]
                pub fn open_with(path: impl AsRef<Path>, options: $options) -> Result<Self, CheckpointError> {
                    Store::open(path.as_ref(), &options).map(Self)
                }

                /// Opens the store in order to remove records from it, on a full disk too.
                ///
                /// # Errors
                #[doc = concat!("As [`", stringify!($name), "::open`].")]
                pub fn open_to_remove(path: &Path) -> Result<Self, CheckpointError> {
                    Self::open_with(path, $engine::options_to_remove())
                }

                /// Finishes the queue and unlocks the directory, without blocking the caller's thread.
                ///
                /// # Errors
                /// [`CheckpointError::Poisoned`] if a write failed.
                pub async fn close(self) -> Result<(), CheckpointError> {
                    self.0.close().await
                }

                /// Copies every thread of any store into a new store in the directory `path`, which must not exist. Runs
                /// may continue meanwhile: see [`backup`](crate::checkpoint::backup). To restore the copy, open it.
                ///
                /// The copy is built in `path` with `.partial` appended, and renamed when it is complete and on disk;
                /// leftovers of an interrupted backup are removed first.
                ///
                /// # Errors
                /// [`CheckpointError::Io`] if `path` exists or cannot be written; the errors of
                /// [`backup`](crate::checkpoint::backup).
                pub async fn backup(
                    from: &dyn Checkpointer,
                    path: impl AsRef<Path>,
                ) -> Result<BackupReport, CheckpointError> {
                    back_up::<$engine>(from, path.as_ref()).await
                }

                /// Returns the switches with which a test makes this store fail.
                #[cfg(feature = "test-util")]
                pub fn faults(&self) -> $crate::checkpoint::StoreFaults {
                    self.0.faults()
                }
            }

            impl Checkpointer for $name {
                fn claim(&self, thread: &ThreadId, claim: Claim) -> Answer<'_, Lease> {
                    self.0.claim(thread, claim)
                }

                fn commit(&self, commit: Commit) -> Receipt {
                    self.0.commit(commit)
                }

                fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
                    self.0.post(thread, records)
                }

                fn post_new<'a>(&'a self, thread: &'a ThreadId, records: Vec<Record>) -> Answer<'a, ()> {
                    self.0.post_new(thread, records)
                }

                fn head(&self, thread: &ThreadId) -> Answer<'_, Option<ThreadHead>> {
                    self.0.head(thread)
                }

                fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> Answer<'_, Vec<Option<Vec<u8>>>> {
                    self.0.get(thread, keys)
                }

                fn scan(
                    &self,
                    thread: &ThreadId,
                    range: RangeInclusive<Key>,
                    order: Order,
                    limit: usize,
                ) -> Answer<'_, Vec<Record>> {
                    self.0.scan(thread, range, order, limit)
                }

                fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Answer<'_, Vec<ThreadId>> {
                    self.0.threads(after, limit)
                }

                fn delete_thread(&self, lease: &Lease) -> Answer<'_, ()> {
                    self.0.delete_thread(lease)
                }

                fn owner(&self, thread: &ThreadId) -> Answer<'_, Option<std::sync::Arc<LeaseOwner>>> {
                    self.0.owner(thread)
                }

                fn send(
                    &self,
                    thread: &ThreadId,
                    request: OwnerRequest,
                ) -> Answer<'_, Option<std::sync::Arc<LeaseOwner>>> {
                    self.0.send(thread, request)
                }

                fn get_items(&self, items: Vec<ItemKey>) -> Answer<'_, Vec<Option<Vec<u8>>>> {
                    self.0.get_items(items)
                }

                fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> Answer<'a, Vec<Item>> {
                    self.0.scan_items(scan)
                }

                fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
                    self.0.write_items(writes)
                }

                fn list<'a>(&'a self, query: &'a ThreadQuery) -> Answer<'a, Vec<ListedThread>> {
                    self.0.list(query)
                }

                fn due<'a>(&'a self, query: &'a DueQuery) -> Answer<'a, DueThreads> {
                    self.0.due(query)
                }

                fn watch(&self) -> StoreWatch {
                    self.0.watch()
                }

                fn is_foreign(&self) -> bool {
                    self.0.is_foreign()
                }

                fn trust(&self) -> Result<(), CheckpointError> {
                    self.0.trust()
                }
            }
        };
    };
}

pub(in crate::checkpoint) use public_methods;
