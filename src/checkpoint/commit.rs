//! Values that pass between the engine and a store: records, the head of a thread, commits and their receipts. Knows no
//! store.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::error::CheckpointError;
use super::item::ItemWrite;
use super::key::{CheckpointId, Key, ThreadId};
use super::row::Row;

/// Boxed future, as returned by object-safe async methods.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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

/// Records that become durable together or not at all. A store that keeps bytes makes them with [`encode`](Commit::encode).
#[derive(Clone, Debug)]
pub struct Commit<V = Row> {
    /// Thread that all records belong to.
    pub thread: ThreadId,
    /// Epoch of the lease under which the records were made.
    pub epoch: u64,
    /// Checkpoint of the head as the writer knows it; the commit is refused if the store has another one.
    pub expected: Option<CheckpointId>,
    /// Head after this commit.
    pub head: ThreadHead,
    /// Records to write; a later one with an equal key wins. The head is not among them.
    pub puts: Vec<(Key, V)>,
    /// Records to remove before the puts are written.
    pub deletes: Vec<Key>,
    /// Items beside threads to write with the records; the commit is refused if one of them is not as expected.
    pub items: Vec<ItemWrite>,
    /// Set if the holder writes nothing more under the lease: a shared store releases the thread in the same round trip. The
    /// lease is still to be [released](super::Lease::release), as other stores wait for that.
    pub is_last: bool,
}

impl Commit {
    /// Largest record that a store accepts, in bytes (64 MiB).
    pub const MAX_RECORD: usize = 64 << 20;
    /// Longest name of a thread, a channel or an effect, in bytes (4 KiB).
    pub const MAX_NAME: usize = 4 << 10;

    /// Returns a commit that moves a thread to `head` under the lease of this epoch, without records.
    pub fn new(thread: ThreadId, epoch: u64, expected: Option<CheckpointId>, head: ThreadHead) -> Self {
        Self { thread, epoch, expected, head, puts: vec![], deletes: vec![], items: vec![], is_last: false }
    }

    /// Returns the commit with more records, whose bytes are made.
    pub fn with_records(mut self, records: impl IntoIterator<Item = Record>) -> Self {
        self.puts.extend(records.into_iter().map(|(key, bytes)| (key, bytes.into())));
        self
    }

    /// Checks everything that needs no store: sizes, and that no record has the key of the head. Of a record whose bytes are not
    /// made, only the key is checked.
    ///
    /// # Errors
    /// [`CheckpointError::TooLarge`] for a record over [`Commit::MAX_RECORD`] or a name over [`Commit::MAX_NAME`],
    /// [`CheckpointError::Codec`] for a record under [`Key::Head`], and the errors of [`ItemWrite::check_all`].
    pub fn check_records(&self) -> Result<(), CheckpointError> {
        self.puts.iter().try_for_each(|(key, row)| check_put(key, row.size().unwrap_or_default()))?;
        self.check_rest()
    }

    /// Checks everything but the puts.
    fn check_rest(&self) -> Result<(), CheckpointError> {
        check_name(&self.thread)?;
        ItemWrite::check_all(&self.items)?;
        self.deletes.iter().try_for_each(check_key)
    }

    /// Makes the bytes of all records, and checks them as [`check_records`](Self::check_records) does.
    ///
    /// # Errors
    /// As [`check_records`](Self::check_records); [`CheckpointError::Codec`] if a record cannot be encoded.
    pub fn encode(self) -> Result<Commit<Vec<u8>>, CheckpointError> {
        self.check_rest()?;
        let Self { thread, epoch, expected, head, puts, deletes, items, is_last } = self;
        let record = |(key, row): (Key, Row)| {
            let bytes = row.into_bytes()?;
            check_put(&key, bytes.len()).map(|()| (key, bytes))
        };
        let puts = puts.into_iter().map(record).collect::<Result<_, _>>()?;
        Ok(Commit { thread, epoch, expected, head, puts, deletes, items, is_last })
    }

    /// Checks records for [`Checkpointer::post`](super::Checkpointer::post) in the same way.
    ///
    /// # Errors
    /// As [`check_records`](Self::check_records).
    pub fn check_posted(thread: &ThreadId, records: &[Record]) -> Result<(), CheckpointError> {
        check_name(thread)?;
        records.iter().try_for_each(|(key, value)| check_put(key, value.len()))
    }
}

impl<V> Commit<V> {
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

fn check_name(thread: &ThreadId) -> Result<(), CheckpointError> {
    check_size("the thread's name", thread.as_str().len(), Commit::MAX_NAME)
}

fn check_put(key: &Key, bytes: usize) -> Result<(), CheckpointError> {
    check_key(key)?;
    check_size(key, bytes, Commit::MAX_RECORD)
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
