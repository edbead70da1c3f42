//! The contract between the engine and a store: fenced atomic commits of records, and reads of what was acknowledged.

use std::fmt::Debug;
use std::future::ready;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::SystemTime;

use superstep_base::near::near;

use super::commit::{BoxFuture, Commit, Receipt, Record, ThreadHead};
use super::error::CheckpointError;
use super::item::{Item, ItemScan, ItemWrite};
use super::key::{ItemKey, Key, Order, ThreadId};
use super::leases::handle::OwnerRequest;
use super::leases::lease::{Claim, Lease};
use super::leases::worker::{StoreWorker, WorkerGuard};
use super::listing::due::{DueChoice, DueQuery, DueThreads};
use super::listing::query::{ThreadQuery, list_by_reading};
use super::listing::reads::{ReadFuture, ThreadReads};
use super::listing::summary::ListedThread;
use super::listing::summary_reader::SummaryReader;
use super::owner::LeaseOwner;
use super::watch::StoreWatch;

/// A store of checkpoints: bytes under names. Knows nothing of states, nodes or graphs.
///
/// - A commit is atomic, and commits of one thread become durable in the order in which `commit` was called.
/// - A commit whose epoch is not the newest claim's, or whose `expected` is not the head, is refused alone.
/// - Reads return only acknowledged records, and never wait for a flush.
/// - After a failed flush every later commit fails ([`CheckpointError::Poisoned`]), and nothing unsynced is served.
///
/// Epochs grow and are never reused, also if a claim never commits. A persistent store therefore has to start above
/// every epoch it ever handed out: it persists a floor when it is opened (as the embedded store does), or the epoch
/// with each claim. The epoch of the newest commit is not enough.
///
/// To implement one: keep a [`Leases`](super::Leases) table and use it for `claim`, `owner` and `send`; in `commit`, check
/// the epoch with [`Leases::check`](super::Leases::check), the records with [`Commit::encode`] and the head with
/// [`Commit::check_head`], then write deletes, puts and head atomically; store keys in the order of [`Key`]
/// ([`key_bytes`](super::key_bytes()) encodes them in that order); report failures of the backend as
/// [`CheckpointError::Backend`]. Then run `superstep::checkpoint::kit` (feature `test-util`) against it, which checks
/// all of the above. LangGraph: `BaseCheckpointSaver`.
pub trait Checkpointer: Debug + Send + Sync + 'static {
    /// Makes the caller the only writer of a thread, until the lease is dropped or taken over. The epoch of the lease is
    /// greater than that of every claim before it, committed under or not, in this process or an earlier one.
    ///
    /// # Errors
    /// [`CheckpointError::ThreadBusy`] if another lease is alive and `claim` does not take over.
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>>;

    /// Queues a commit at once, in call order; the receipt resolves when it is durable, or with the reason why it was
    /// refused.
    fn commit(&self, commit: Commit) -> Receipt;

    /// Queues records that belong to no run: signals ([`Key::Signal`]), which can be sent while a run holds the thread.
    /// Needs no lease and leaves the head unchanged. The receipt resolves when they are durable, or with the reason why
    /// they were refused.
    ///
    /// The default implementation refuses: threads of such a store accept no signals.
    ///
    /// # Errors
    /// The receipt resolves to [`CheckpointError::UnknownThread`] if the thread does not exist when the records are
    /// written, and to the errors of [`Commit::check_records`].
    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        let _ = records;
        Receipt::ready(Err(CheckpointError::NoMailbox { thread: thread.clone() }))
    }

    /// Queues records as [`post`](Self::post) does, all of them or, if the thread has a record under one of their keys, none: of
    /// several senders of the same record, in whichever process, one is the first.
    ///
    /// The default implementation looks first and posts then, which is enough where one process at a time posts.
    ///
    /// # Errors
    /// As `post`; [`CheckpointError::RecordExists`].
    fn post_new<'a>(
        &'a self,
        thread: &'a ThreadId,
        records: Vec<Record>,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        Box::pin(async move {
            let keys: Vec<Key> = records.iter().map(|(key, _)| key.clone()).collect();
            let found = self.get(thread, keys.clone()).await?;
            match keys.into_iter().zip(found).find(|(_, found)| found.is_some()) {
                Some((key, _)) => Err(CheckpointError::RecordExists { thread: thread.clone(), key }),
                None => self.post(thread, records).await,
            }
        })
    }

    /// Returns the head of a thread; `None` if the thread is unknown.
    ///
    /// # Errors
    /// If the record is damaged or the store cannot be read.
    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>>;

    /// Returns the records under `keys`, in that order.
    ///
    /// # Errors
    /// If a record is damaged or the store cannot be read.
    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>>;

    /// Returns up to `limit` records of a range of keys.
    ///
    /// # Errors
    /// If a record is damaged or the store cannot be read.
    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>>;

    /// Returns up to `limit` thread names after `after`, ordered by length, then by bytes.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>>;

    /// Deletes every record of the lease's thread, durably.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if the lease was lost; or if the store cannot be written.
    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>>;

    /// Returns who holds the thread; `None` if nobody does.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>>;

    /// Passes a request to whoever runs a thread, in whichever process, and returns who that is; `None` if nobody runs it.
    /// The owner sees it at once in this process, and within 100 ms elsewhere.
    ///
    /// The default implementation refuses.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn send(
        &self,
        thread: &ThreadId,
        request: OwnerRequest,
    ) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        _ = request;
        Box::pin(ready(Err(CheckpointError::NoMailbox { thread: thread.clone() })))
    }

    /// Returns the values of items, in the order of their names here; `None` for those that are not there.
    ///
    /// The default implementation has none.
    ///
    /// # Errors
    /// If an item is damaged or the store cannot be read.
    fn get_items(&self, items: Vec<ItemKey>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        Box::pin(ready(Ok(vec![None; items.len()])))
    }

    /// Returns items in the order of their names, as of one moment.
    ///
    /// The default implementation has none.
    ///
    /// # Errors
    /// If an item is damaged or the store cannot be read.
    fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> BoxFuture<'a, Result<Vec<Item>, CheckpointError>> {
        _ = scan;
        Box::pin(ready(Ok(vec![])))
    }

    /// Writes items, all or none of them: values beside threads, for what a program keeps in the store apart from its
    /// threads. [`Commit::items`] writes them with a commit of a thread. Two writes of the same item of which the second
    /// does not await the first are made in any order.
    ///
    /// The default implementation refuses. A store with items writes those of its commits too.
    ///
    /// # Errors
    /// The receipt resolves to [`CheckpointError::ItemConflict`] if an item is not as expected, and to the errors of
    /// [`ItemWrite::check_all`].
    fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
        _ = writes;
        Receipt::ready(Err(CheckpointError::NoItems))
    }

    /// Returns the threads that meet the conditions of a query, ordered by length of the name, then by its bytes. A thread
    /// whose records cannot be read is damaged, and does not affect the others.
    ///
    /// The default implementation reads every thread. A store with an index of its own answers in time that grows with the
    /// answer; a wrapper forwards the call to the store it wraps.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn list<'a>(&'a self, query: &'a ThreadQuery) -> BoxFuture<'a, Result<Vec<ListedThread>, CheckpointError>> {
        Box::pin(async move { list_by_reading(&self, query).await })
    }

    /// Claims threads that can go on by themselves, those that have been due for the longest time first. Each is given to
    /// one caller only, with a lease that the caller runs it under, [releases](Lease::release) or [leaves](Lease::leave).
    ///
    /// The default implementation lists all threads that may be due; a wrapper forwards the call to the store it wraps.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    fn due<'a>(&'a self, query: &'a DueQuery) -> BoxFuture<'a, Result<DueThreads, CheckpointError>> {
        Box::pin(due_by_listing(self, query))
    }

    /// Returns hints that a thread may have become due. The default implementation sends none.
    fn watch(&self) -> StoreWatch {
        StoreWatch::default()
    }

    /// Returns the time by the clock of the store, which decides when waits are over and what is recorded as the time; `None` if
    /// that is the clock of the machine. Machines that share a store need not agree on the time.
    ///
    /// The default implementation returns `None`; a wrapper forwards the call to the store it wraps.
    fn time(&self) -> Option<SystemTime> {
        None
    }

    /// Enters this process in the list of workers, under the name with which it opened the store, until the guard is
    /// dropped. `graphs` are those whose threads it runs, `version` is that of its program.
    ///
    /// The default implementation, for stores that one process uses, lists nothing.
    ///
    /// # Errors
    /// [`CheckpointError::WorkerExists`] if a live worker has the name; if the store cannot be written.
    fn join_workers(
        &self,
        graphs: Vec<String>,
        version: String,
    ) -> BoxFuture<'_, Result<WorkerGuard, CheckpointError>> {
        _ = (graphs, version);
        Box::pin(ready(Ok(WorkerGuard::default())))
    }

    /// Returns the workers, by name: those that live, and those that died less than ten leases ago.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn workers(&self) -> BoxFuture<'_, Result<Vec<StoreWorker>, CheckpointError>> {
        Box::pin(ready(Ok(vec![])))
    }

    /// Returns whether the whole store comes from elsewhere and is not trusted: its threads may be read, but not run. A
    /// wrapper must forward the call to the store it wraps.
    fn is_foreign(&self) -> bool {
        false
    }

    /// Trusts a store that comes from elsewhere, so that its threads may be run. Does nothing for any other store.
    ///
    /// # Errors
    /// If the trust cannot be stored.
    fn trust(&self) -> Result<(), CheckpointError> {
        Ok(())
    }
}

/// Claims the threads of a list that are due.
async fn due_by_listing<C: Checkpointer + ?Sized>(store: &C, query: &DueQuery) -> Result<DueThreads, CheckpointError> {
    let DueChoice { names, next, others } = query.choose(store.list(&query.candidates()).await?);
    let (mut reader, mut threads) = (SummaryReader::new(&store), vec![]);
    for id in names {
        if threads.len() >= query.limit {
            break;
        }
        let lease = match store.claim(&id, Claim::IfFree).await {
            Err(CheckpointError::ThreadBusy { .. }) => continue,
            lease => lease?,
        };
        // Somebody may have run it since it was listed.
        let found = reader.read_records(&id).await?.map(|found| found.at(query.time(), store.is_foreign()));
        match found.filter(|found| found.can_resume() && query.fits(found)) {
            Some(found) => threads.push((lease, found)),
            None => lease.release().await?,
        }
    }
    Ok(DueThreads { threads, next, others })
}

impl<C: Checkpointer + ?Sized> ThreadReads for &C {
    fn read_head(&self, thread: &ThreadId) -> ReadFuture<'_, Option<ThreadHead>> {
        self.head(thread)
    }

    fn read_records(&self, thread: &ThreadId, keys: Vec<Key>) -> ReadFuture<'_, Vec<Option<Vec<u8>>>> {
        self.get(thread, keys)
    }

    fn read_range(&self, thread: &ThreadId, range: RangeInclusive<Key>, limit: usize) -> ReadFuture<'_, Vec<Record>> {
        self.scan(thread, range, Order::Ascending, limit)
    }

    fn read_owner(&self, thread: &ThreadId) -> ReadFuture<'_, Option<Arc<LeaseOwner>>> {
        self.owner(thread)
    }

    fn read_names(&self, after: Option<&ThreadId>, limit: usize) -> ReadFuture<'_, Vec<ThreadId>> {
        self.threads(after, limit)
    }

    fn is_store_foreign(&self) -> bool {
        self.is_foreign()
    }
}

/// Returns [`CheckpointError::UnknownThread`] with the names of similar threads.
pub(super) async fn unknown_thread(store: &dyn Checkpointer, thread: &ThreadId) -> CheckpointError {
    let near = similar_threads(store, thread).await;
    CheckpointError::UnknownThread { thread: thread.clone(), near }
}

/// Returns the threads of a store with a name similar to this one, nearest first; none if they cannot be listed.
pub async fn similar_threads(store: &dyn Checkpointer, thread: &ThreadId) -> Vec<ThreadId> {
    /// Maximum number of names that are compared.
    const NAMES: usize = 10_000;
    let all = store.threads(None, NAMES).await.unwrap_or_default();
    let others = all.iter().filter(|other| *other != thread).map(ThreadId::as_str);
    near(thread.as_str(), others).into_iter().map(ThreadId::from).collect()
}
