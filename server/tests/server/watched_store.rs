//! A store in memory that counts what is read, makes large reads wait, damages records of a thread, or cannot list its items. Knows no server.

use std::future::ready;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Item, ItemKey, ItemScan, ItemWrite, Key, Lease,
    LeaseOwner, ListedThread, MemoryCheckpointer, Order, Receipt, Record, ThreadHead, ThreadId, ThreadQuery,
};
use tokio::sync::Semaphore;

type Reading<'a, T> = BoxFuture<'a, Result<T, CheckpointError>>;

/// A store that counts reads of single threads, and lets the records of many threads be read only as often as it has permits.
#[derive(Debug)]
pub(crate) struct WatchedStore {
    inner: MemoryCheckpointer,
    pub(crate) reads: AtomicUsize,
    pub(crate) permits: Semaphore,
    /// Set if its items cannot be listed.
    is_broken: bool,
    /// A thread with damaged records, which its summary in a list does not show.
    pub(crate) damage: OnceLock<(ThreadId, Damage)>,
}

/// The records of a thread that are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    Tasks,
    Checkpoints,
}

/// The number of records that a list does not read at once, and a look at all threads does.
pub(crate) const MANY: usize = 100;

impl WatchedStore {
    pub(crate) fn new(inner: MemoryCheckpointer, permits: usize) -> Arc<Self> {
        let (reads, permits) = (AtomicUsize::new(0), Semaphore::new(permits));
        Arc::new(Self { inner, reads, permits, is_broken: false, damage: OnceLock::new() })
    }

    pub(crate) fn broken() -> Arc<Self> {
        let (reads, permits) = (AtomicUsize::new(0), Semaphore::new(Semaphore::MAX_PERMITS));
        let (inner, damage) = (MemoryCheckpointer::new(), OnceLock::new());
        Arc::new(Self { inner, reads, permits, is_broken: true, damage })
    }

    /// Damages a record as it is read.
    fn damage(&self, thread: &ThreadId, key: &Key, bytes: &mut Vec<u8>) {
        let of_key = match key {
            Key::Task { .. } => Damage::Tasks,
            Key::Checkpoint(_) => Damage::Checkpoints,
            _ => return,
        };
        if self.damage.get().is_some_and(|(damaged, damage)| damaged == thread && *damage == of_key) {
            *bytes = b"damaged".to_vec();
        }
    }

    fn count(&self) -> &MemoryCheckpointer {
        self.reads.fetch_add(1, Ordering::SeqCst);
        &self.inner
    }
}

impl Checkpointer for WatchedStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Reading<'_, Lease> {
        self.inner.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        self.inner.commit(commit)
    }

    fn head(&self, thread: &ThreadId) -> Reading<'_, Option<ThreadHead>> {
        self.count().head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> Reading<'_, Vec<Option<Vec<u8>>>> {
        let thread = thread.clone();
        Box::pin(async move {
            let mut found = self.count().get(&thread, keys.clone()).await?;
            let read = keys.iter().zip(&mut found);
            read.for_each(|(key, bytes)| bytes.iter_mut().for_each(|bytes| self.damage(&thread, key, bytes)));
            Ok(found)
        })
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> Reading<'_, Vec<Record>> {
        let thread = thread.clone();
        Box::pin(async move {
            let mut found = self.count().scan(&thread, range, order, limit).await?;
            found.iter_mut().for_each(|(key, bytes)| self.damage(&thread, key, bytes));
            Ok(found)
        })
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Reading<'_, Vec<ThreadId>> {
        self.inner.threads(after, limit)
    }

    fn list<'a>(&'a self, query: &'a ThreadQuery) -> Reading<'a, Vec<ListedThread>> {
        self.inner.list(query)
    }

    fn delete_thread(&self, lease: &Lease) -> Reading<'_, ()> {
        self.inner.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> Reading<'_, Option<Arc<LeaseOwner>>> {
        self.inner.owner(thread)
    }

    fn get_items(&self, items: Vec<ItemKey>) -> Reading<'_, Vec<Option<Vec<u8>>>> {
        Box::pin(async move {
            if items.len() > MANY {
                self.permits.acquire().await.unwrap().forget();
            }
            self.inner.get_items(items).await
        })
    }

    fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> Reading<'a, Vec<Item>> {
        if self.is_broken {
            let reason = "the disk is gone".into();
            return Box::pin(ready(Err(CheckpointError::Poisoned { reason })));
        }
        self.inner.scan_items(scan)
    }

    fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
        self.inner.write_items(writes)
    }
}
