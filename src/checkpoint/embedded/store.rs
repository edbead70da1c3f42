//! [`Store`]: implements the contract with reads on the caller's thread and requests to the committer; and
//! [`EmbeddedStore`], what a database adds to it. Knows the parts of a store; must not know which database it is on.

use std::future::ready;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::committer::CommitterState;
use super::engine::{Engine, RowSource, catch_quietly};
use super::files::io_at;
use super::lock::Lock;
use super::opening::{OpenedStore, ReadOnlyStore};
use super::queue::Operation;
use super::tracked::TrackedFiles;
use super::view::View;
use crate::checkpoint::index::changes::ChangedThreads;
use crate::checkpoint::index::keys::IndexReads;
use crate::checkpoint::index::upkeep::{self, IndexWrite, IndexedStore};
use crate::checkpoint::listing::query::list_by_reading;
use crate::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, DueQuery, DueThreads, Item, ItemKey, ItemScan, ItemWrite,
    Key, Lease, LeaseOwner, Leases, ListedThread, Order, OwnerRequest, Receipt, Record, StoreWatch, ThreadHead,
    ThreadId, ThreadQuery,
};

/// A database on which there is an embedded store: what its folder adds to the parts that all stores share.
pub(in crate::checkpoint) trait EmbeddedStore: Engine + Sized {
    /// Database of a store that is only read.
    type Reader: RowSource;
    /// Options of an opening.
    type Options: Default;

    /// Returns the options of an opening that releases the reserve of disk space.
    fn options_to_remove() -> Self::Options;

    /// Returns whether an opening has these options.
    fn is_to_remove(options: &Self::Options) -> bool;

    /// Opens the store in the directory `path`, or creates it: checks files before, and finishes interrupted work.
    fn open_store(path: &Path, options: &Self::Options) -> Result<OpenedStore<Self>, CheckpointError>;

    /// Opens the store in the directory `path` read-only: writes nothing there, and needs no write permission.
    fn read_store(path: &Path) -> Result<ReadOnlyStore<Self::Reader>, CheckpointError>;

    /// Closes the database and leaves one without removed rows in its place; verifies every row, and returns their number.
    /// The directory `path` is locked, and the store's number of openings is `epoch`.
    fn rewrite(self, path: &Path, epoch: u64) -> Result<u64, CheckpointError>;
}

/// An open store.
#[derive(Debug)]
pub(in crate::checkpoint) struct Store<E: EmbeddedStore> {
    pub(super) shared: Option<Arc<CommitterState<E>>>,
    /// Path and view of a store that was opened read-only.
    reads: Option<(PathBuf, View<E::Reader>)>,
    committer: Option<JoinHandle<()>>,
    /// Unset if lists read every thread: nothing is written for them.
    keeps_index: bool,
    /// Files of the store that git tracks, until they are trusted.
    untrusted: Mutex<Option<TrackedFiles>>,
    // Dropped last, so that the directory is unlocked only when nothing uses it any more.
    _lock: Option<Lock>,
}

impl<E: EmbeddedStore> Store<E> {
    /// Opens the store in the directory `path`, or creates it, and starts its committer.
    pub(in crate::checkpoint) fn open(path: &Path, options: &E::Options) -> Result<Self, CheckpointError> {
        let OpenedStore { engine, marker_file, lock, epoch, changes } = E::open_store(path, options)?;
        let untrusted = TrackedFiles::find(path)?.filter(|tracked| !tracked.is_trusted());
        let shared = Arc::new(CommitterState::new(engine, marker_file, epoch, changes));
        let committer = thread::Builder::new().name("superstep-commit".into()).spawn({
            let shared = shared.clone();
            move || shared.run()
        });
        let committer = io_at(path, "start a thread for the store", committer)?;
        let untrusted = Mutex::new(untrusted);
        let (shared, committer, keeps_index) = (Some(shared), Some(committer), !E::is_to_remove(options));
        Ok(Self { shared, committer, keeps_index, untrusted, reads: None, _lock: Some(lock) })
    }

    /// Opens the store in the directory `path` read-only: it refuses writes.
    pub(in crate::checkpoint) fn open_read_only(path: &Path) -> Result<Self, CheckpointError> {
        let ReadOnlyStore { view, lock } = E::read_store(path)?;
        let untrusted = TrackedFiles::find(path)?.filter(|tracked| !tracked.is_trusted());
        let reads = Some((path.into(), view));
        let untrusted = Mutex::new(untrusted);
        Ok(Self { shared: None, reads, committer: None, keeps_index: false, untrusted, _lock: lock })
    }

    /// Finishes the queue and unlocks the directory, without blocking the caller's thread.
    pub(in crate::checkpoint) async fn close(self) -> Result<(), CheckpointError> {
        let closed = tokio::task::spawn_blocking(move || self.shut_down());
        closed.await.unwrap_or_else(|error| Err(CheckpointError::Poisoned { reason: error.to_string().into() }))
    }

    fn shut_down(mut self) -> Result<(), CheckpointError> {
        self.stop_committer();
        if self.reads.is_some() {
            return Ok(());
        }
        self.shared_state()?.check_poison()
    }

    fn stop_committer(&mut self) {
        if let Some(shared) = &self.shared {
            shared.queue.close();
        }
        if let Some(committer) = self.committer.take() {
            // The callers have already received the error of a panic.
            let _ = committer.join();
        }
    }

    fn shared_state(&self) -> Result<&CommitterState<E>, CheckpointError> {
        self.shared.as_deref().ok_or_else(|| match &self.reads {
            Some((path, _)) => {
                CheckpointError::NotWritable { path: path.clone(), reason: "it was opened to be read only".into() }
            }
            None => CheckpointError::Poisoned { reason: "it is closed".into() },
        })
    }

    fn push_post(&self, thread: &ThreadId, records: Vec<Record>, post: fn(Vec<Record>) -> Operation) -> Receipt {
        let checked = self.shared_state().and_then(|shared| {
            shared.check_poison()?;
            Commit::check_posted(thread, &records).map(|()| shared)
        });
        match checked {
            Ok(shared) => Receipt::waiting(shared.queue.push(thread.clone(), post(records))),
            Err(error) => Receipt::ready(Err(error)),
        }
    }

    fn reader(&self) -> Result<&dyn StoreReader, CheckpointError> {
        match &self.reads {
            Some((_, view)) => Ok(view),
            None => Ok(&self.shared_state()?.view),
        }
    }
}

impl<E: EmbeddedStore> IndexedStore for CommitterState<E> {
    fn changes(&self) -> &ChangedThreads {
        &self.changes
    }

    fn leases(&self) -> &Leases {
        &self.leases
    }

    fn claim_free<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<Lease, CheckpointError>> {
        Box::pin(self.claim(thread, Claim::IfFree))
    }

    fn read_index(
        &self,
        read: &mut dyn FnMut(&dyn IndexReads) -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        read(&self.view.snapshot())
    }

    fn write_index(&self, write: IndexWrite) -> Receipt {
        match self.check_poison() {
            Ok(()) => Receipt::waiting(self.queue.push_apart(Operation::Index(write))),
            Err(error) => Receipt::ready(Err(error)),
        }
    }
}

impl<E: EmbeddedStore> CommitterState<E> {
    fn claim(
        &self,
        thread: &ThreadId,
        claim: Claim,
    ) -> impl Future<Output = Result<Lease, CheckpointError>> + Send + use<E> {
        let claimed = self.leases.claim(thread, claim).map(|lease| (lease, self.queue.barrier(thread)));
        async move {
            let (lease, barrier) = claimed?;
            // Requests queued under an earlier lease are refused or acknowledged before the new one reads.
            if let Some(barrier) = barrier {
                Receipt::waiting(barrier).await?;
            }
            Ok(lease)
        }
    }
}

/// Reads of the contract, whatever the database is.
trait StoreReader {
    fn head(&self, thread: &ThreadId) -> Result<Option<ThreadHead>, CheckpointError>;
    fn get(&self, thread: &ThreadId, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, CheckpointError>;
    fn scan(
        &self,
        thread: &ThreadId,
        range: &RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, CheckpointError>;
    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Result<Vec<ThreadId>, CheckpointError>;
    fn items(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<u8>>>, CheckpointError>;
    fn scan_items(&self, scan: &ItemScan) -> Result<Vec<Item>, CheckpointError>;
}

impl<S: RowSource> StoreReader for View<S> {
    fn head(&self, thread: &ThreadId) -> Result<Option<ThreadHead>, CheckpointError> {
        self.snapshot().head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, CheckpointError> {
        self.snapshot().get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: &RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, CheckpointError> {
        self.snapshot().scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Result<Vec<ThreadId>, CheckpointError> {
        self.snapshot().threads(after, limit)
    }

    fn items(&self, items: &[ItemKey]) -> Result<Vec<Option<Vec<u8>>>, CheckpointError> {
        self.snapshot().items(items)
    }

    fn scan_items(&self, scan: &ItemScan) -> Result<Vec<Item>, CheckpointError> {
        self.snapshot().scan_items(scan)
    }
}

impl<E: EmbeddedStore> Drop for Store<E> {
    fn drop(&mut self) {
        self.stop_committer();
        let shared = self.shared.take();
        // A database may write on drop, and panic on a failing disk.
        _ = catch_quietly(move || drop(shared));
    }
}

impl<E: EmbeddedStore> Checkpointer for Store<E> {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        match self.shared_state() {
            Ok(shared) => Box::pin(shared.claim(thread, claim)),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn commit(&self, commit: Commit) -> Receipt {
        let checked = self.shared_state().and_then(|shared| shared.encode(commit).map(|commit| (shared, commit)));
        match checked {
            Ok((shared, commit)) => {
                Receipt::waiting(shared.queue.push(commit.thread.clone(), Operation::Commit(commit)))
            }
            Err(error) => Receipt::ready(Err(error)),
        }
    }

    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        self.push_post(thread, records, Operation::Post)
    }

    fn post_new<'a>(
        &'a self,
        thread: &'a ThreadId,
        records: Vec<Record>,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        Box::pin(self.push_post(thread, records, Operation::PostNew))
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        Box::pin(ready(self.reader().and_then(|reads| reads.head(thread))))
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        Box::pin(ready(self.reader().and_then(|reads| reads.get(thread, &keys))))
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        Box::pin(ready(self.reader().and_then(|reads| reads.scan(thread, &range, order, limit))))
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        Box::pin(ready(self.reader().and_then(|reads| reads.threads(after, limit))))
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        let (thread, epoch) = (lease.thread().clone(), lease.epoch());
        let queued = self.shared_state().and_then(|shared| {
            shared.check_poison()?;
            shared.leases.check(&thread, epoch)?;
            Ok(shared.queue.push(thread, Operation::Delete(epoch)))
        });
        Box::pin(async move { Receipt::waiting(queued?).await })
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        Box::pin(ready(Ok(self.shared.as_ref().and_then(|shared| shared.leases.owner(thread)))))
    }

    fn send(
        &self,
        thread: &ThreadId,
        request: OwnerRequest,
    ) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        Box::pin(ready(Ok(self.shared.as_ref().and_then(|shared| shared.leases.send(thread, request)))))
    }

    fn get_items(&self, items: Vec<ItemKey>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        Box::pin(ready(self.reader().and_then(|reads| reads.items(&items))))
    }

    fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> BoxFuture<'a, Result<Vec<Item>, CheckpointError>> {
        Box::pin(ready(self.reader().and_then(|reads| reads.scan_items(scan))))
    }

    fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
        let checked = self.shared_state().and_then(|shared| {
            shared.check_poison()?;
            ItemWrite::check_all(&writes).map(|()| shared)
        });
        match checked {
            Ok(shared) => Receipt::waiting(shared.queue.push_apart(Operation::Items(writes))),
            Err(error) => Receipt::ready(Err(error)),
        }
    }

    fn list<'a>(&'a self, query: &'a ThreadQuery) -> BoxFuture<'a, Result<Vec<ListedThread>, CheckpointError>> {
        Box::pin(async move {
            match self.keeps_index {
                true => upkeep::list(self.shared_state()?, &self, query).await,
                false => list_by_reading(&self, query).await,
            }
        })
    }

    fn due<'a>(&'a self, query: &'a DueQuery) -> BoxFuture<'a, Result<DueThreads, CheckpointError>> {
        Box::pin(async move { upkeep::due(self.shared_state()?, &self, query).await })
    }

    fn watch(&self) -> StoreWatch {
        self.shared.as_ref().map_or_else(StoreWatch::default, |shared| shared.leases.watch())
    }

    fn is_foreign(&self) -> bool {
        self.untrusted.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn trust(&self) -> Result<(), CheckpointError> {
        let mut untrusted = self.untrusted.lock().unwrap_or_else(PoisonError::into_inner);
        untrusted.as_ref().map_or(Ok(()), TrackedFiles::trust)?;
        *untrusted = None;
        Ok(())
    }
}
