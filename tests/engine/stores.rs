//! The stores that tests run on.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Key, Lease, LeaseOwner, MemoryCheckpointer, Order,
    Receipt, Record, ThreadHead, ThreadId,
};

use crate::postgres;

/// A store, with the directory it is in, which is removed on drop.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) store: Arc<dyn Checkpointer>,
    _directory: Option<tempfile::TempDir>,
}

impl Store {
    /// Returns true if leases of the store end with a time.
    pub(crate) fn has_ends_of_leases(&self) -> bool {
        format!("{:?}", self.store).starts_with("PostgresCheckpointer")
    }

    pub(crate) fn memory() -> Self {
        Self { store: Arc::new(MemoryCheckpointer::new()), _directory: None }
    }

    #[cfg(feature = "sled")]
    pub(crate) fn disk() -> Self {
        if let Some(address) = postgres::replacement() {
            return Self { store: postgres::open(&address), _directory: None };
        }
        let directory = tempfile::tempdir().unwrap();
        let store = superstep::checkpoint::SledCheckpointer::open(directory.path()).unwrap();
        Self { store: Arc::new(store), _directory: Some(directory) }
    }

    #[cfg(not(feature = "sled"))]
    pub(crate) fn disk() -> Self {
        Self::memory()
    }
}

/// A store that counts the bytes it returns and stores, and its events.
#[derive(Debug)]
pub(crate) struct Counting {
    store: Arc<dyn Checkpointer>,
    read: AtomicUsize,
    written: AtomicUsize,
    largest: AtomicUsize,
    commits: AtomicUsize,
    events: AtomicUsize,
    broken: AtomicBool,
    outages: AtomicUsize,
}

impl Counting {
    pub(crate) fn new(store: &Store) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&store.store),
            read: AtomicUsize::new(0),
            written: AtomicUsize::new(0),
            largest: AtomicUsize::new(0),
            commits: AtomicUsize::new(0),
            events: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            outages: AtomicUsize::new(0),
        })
    }

    /// Returns the number of bytes read since the last call.
    pub(crate) fn read(&self) -> usize {
        self.read.swap(0, Ordering::SeqCst)
    }

    /// Returns the number of bytes written since the last call.
    pub(crate) fn written(&self) -> usize {
        self.written.swap(0, Ordering::SeqCst)
    }

    /// Returns the number of commits so far.
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }

    /// Returns the number of events stored so far.
    pub(crate) fn events(&self) -> usize {
        self.events.load(Ordering::SeqCst)
    }

    /// Makes so many lists fail.
    pub(crate) fn has_outages(&self, count: usize) {
        self.outages.store(count, Ordering::SeqCst);
    }

    /// Makes every later read panic.
    pub(crate) fn break_reads(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }

    /// Returns the number of bytes of the largest answer.
    pub(crate) fn largest(&self) -> usize {
        self.largest.load(Ordering::SeqCst)
    }

    fn count(&self, bytes: usize) {
        self.largest.fetch_max(bytes, Ordering::SeqCst);
        self.read.fetch_add(bytes, Ordering::SeqCst);
    }
}

impl Checkpointer for Counting {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.store.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        let events = commit.puts.iter().filter(|(key, _)| matches!(key, Key::Event { .. })).count();
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.events.fetch_add(events, Ordering::SeqCst);
        self.written
            .fetch_add(commit.puts.iter().map(|(_, value)| value.to_bytes().unwrap().len()).sum(), Ordering::SeqCst);
        self.store.commit(commit)
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        self.store.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        let thread = thread.clone();
        Box::pin(async move {
            assert!(!self.broken.load(Ordering::SeqCst), "out of paper");
            let found = self.store.get(&thread, keys).await?;
            self.count(found.iter().flatten().map(Vec::len).sum());
            Ok(found)
        })
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        let thread = thread.clone();
        Box::pin(async move {
            assert!(!self.broken.load(Ordering::SeqCst), "out of paper");
            let found = self.store.scan(&thread, range, order, limit).await?;
            self.count(found.iter().map(|(_, bytes)| bytes.len()).sum());
            Ok(found)
        })
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        if self.outages.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            let outage = CheckpointError::Outage { store: "counting".into(), reason: "it is away".into() };
            return Box::pin(std::future::ready(Err(outage)));
        }
        self.store.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        self.store.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.store.owner(thread)
    }
}
