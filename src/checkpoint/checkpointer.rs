//! The contract between the engine and a store: fenced atomic commits of records, and reads of what was acknowledged.

use std::fmt::{Debug, Display};
use std::future::{Future, ready};
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::{Deserialize, Serialize};
use superstep_base::near::near;
use tokio::sync::oneshot;

use super::boxed::BoxFuture;
use super::error::CheckpointError;
use super::key::{CheckpointId, Key, ThreadId};
use super::lease::{Claim, Lease, OwnerRequest};
use super::owner::LeaseOwner;

/// Key and the bytes stored under it.
pub type Record = (Key, Vec<u8>);

/// Position of a thread. Stored with the thread and compared at every commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadHead {
    /// Newest checkpoint of the root graph; `None` before the first.
    pub checkpoint: Option<CheckpointId>,
    /// First checkpoint number that this thread has not used.
    pub next: u64,
    /// Random id drawn when the thread is first written; distinguishes threads that reuse a name.
    pub birth: u64,
}

/// Records that become durable together or not at all.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Thread that all records belong to.
    pub thread: ThreadId,
    /// Epoch of the lease under which the records were made.
    pub epoch: u64,
    /// Checkpoint of the head as the writer knows it; the commit is refused if the store has another one.
    pub expected: Option<CheckpointId>,
    /// Head after this commit.
    pub head: ThreadHead,
    /// Records to write; a later one with an equal key wins. The head is not among them.
    pub puts: Vec<(Key, Vec<u8>)>,
    /// Records to remove before the puts are written.
    pub deletes: Vec<Key>,
}

impl Commit {
    /// Largest record that a store accepts, in bytes (64 MiB).
    pub const MAX_RECORD: usize = 64 << 20;
    /// Longest name of a thread, a channel or an effect, in bytes (4 KiB).
    pub const MAX_NAME: usize = 4 << 10;

    /// Checks everything that needs no store: sizes, and that no record has the key of the head.
    ///
    /// # Errors
    /// [`CheckpointError::TooLarge`] for a record over [`Commit::MAX_RECORD`] or a name over [`Commit::MAX_NAME`],
    /// [`CheckpointError::Codec`] for a record under [`Key::Head`].
    pub fn check_records(&self) -> Result<(), CheckpointError> {
        Self::check_posted(&self.thread, &self.puts)?;
        self.deletes.iter().try_for_each(check_key)
    }

    /// Checks records for [`Checkpointer::post`] in the same way.
    ///
    /// # Errors
    /// As [`check_records`](Self::check_records).
    pub fn check_posted(thread: &ThreadId, records: &[Record]) -> Result<(), CheckpointError> {
        check_size("the thread's name", thread.as_str().len(), Self::MAX_NAME)?;
        records.iter().try_for_each(|(key, value)| check_put(key, value))
    }

    /// Checks that the head the store has `found` is the one this commit expects.
    ///
    /// # Errors
    /// [`CheckpointError::HeadMoved`] if it is not.
    pub fn check_head(&self, found: Option<CheckpointId>) -> Result<(), CheckpointError> {
        if self.expected == found {
            return Ok(());
        }
        Err(CheckpointError::HeadMoved { thread: self.thread.clone(), expected: self.expected, found })
    }
}

fn check_put(key: &Key, value: &[u8]) -> Result<(), CheckpointError> {
    check_key(key)?;
    check_size(key, value.len(), Commit::MAX_RECORD)
}

fn check_key(key: &Key) -> Result<(), CheckpointError> {
    match key {
        Key::Head => Err(CheckpointError::Codec {
            what: "commit".into(),
            reason: "the head is set by `Commit::head`, not by a record".into(),
        }),
        Key::Log { channel: name, .. } | Key::Effect { key: name, .. } | Key::Tag(name) => {
            check_size("the name in a key", name.len(), Commit::MAX_NAME)
        }
        Key::About | Key::Shape(_) | Key::Checkpoint(_) | Key::Nested(_) => Ok(()),
        Key::Task { .. } | Key::Child { .. } | Key::Row(_) | Key::Event { .. } | Key::Signal { .. } => Ok(()),
    }
}

fn check_size(what: impl Display, bytes: usize, limit: usize) -> Result<(), CheckpointError> {
    if bytes <= limit { Ok(()) } else { Err(CheckpointError::TooLarge { what: what.to_string(), bytes, limit }) }
}

/// Acknowledgement of a commit: resolves when the records are durable.
#[derive(Debug)]
#[must_use = "a commit is durable only when its receipt resolves"]
pub struct Receipt(State);

#[derive(Debug)]
enum State {
    Ready(Option<Result<(), CheckpointError>>),
    Waiting(oneshot::Receiver<Result<(), CheckpointError>>),
}

impl Receipt {
    /// Returns a receipt that is already resolved.
    pub fn ready(result: Result<(), CheckpointError>) -> Self {
        Self(State::Ready(Some(result)))
    }

    /// Returns a receipt that resolves when `receiver` does.
    pub fn waiting(receiver: oneshot::Receiver<Result<(), CheckpointError>>) -> Self {
        Self(State::Waiting(receiver))
    }
}

impl Future for Receipt {
    type Output = Result<(), CheckpointError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => Poll::Ready(result.take().unwrap_or(Ok(()))),
            State::Waiting(receiver) => Pin::new(receiver).poll(cx).map(|sent| {
                sent.unwrap_or_else(|_| Err(CheckpointError::Poisoned { reason: "the committer is gone".into() }))
            }),
        }
    }
}

/// Direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Greatest key first.
    Descending,
}

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
/// the epoch with [`Leases::check`](super::Leases::check), the records with [`Commit::check_records`] and the head with
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
