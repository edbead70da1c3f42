//! [`SledCheckpointer`]: implements the contract with reads on the caller's thread and requests to the committer.

use std::future::ready;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::committer::{self, Shared};
use super::files::io_at;
use super::lock::Lock;
use super::open::{self, OpenedStore, ReadOnlyStore};
use super::options::SledOptions;
use super::queue::Operation;
use super::quiet::catch_quietly;
use super::tracked::TrackedFiles;
use super::view::View;
use crate::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Head, Key, Lease, Order, Receipt, Record, ThreadId,
};

/// Checkpointer that stores everything in a directory, for one process at a time. LangGraph: `SqliteSaver`.
///
/// Every acknowledged commit survives a crash and a power cut. Dropping it finishes the queue and unlocks the
/// directory, which may block for the time of a sync; [`SledCheckpointer::close`] does so on a blocking thread. Only
/// the owner can read the directory (0700); its contents are not encrypted, and it never shrinks. Links inside it are
/// not followed.
///
/// A store whose files a git repository tracks came with a clone: its threads may be read, but not run until a person
/// [trusts](crate::checkpoint::trust) one of them, and with it the whole store in its tracked state.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
/// # #[derive(NodeId)] enum Step { Write }
/// # fn example(essays: CompiledGraph<Draft, Step>, letters: CompiledGraph<Draft, Step>) -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(SledCheckpointer::open("runs.sled")?); // once per process
/// let essays = essays.with_shared_checkpointer(store.clone());
/// let letters = letters.with_shared_checkpointer(store);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct SledCheckpointer {
    pub(super) shared: Option<Arc<Shared>>,
    /// Path and view of a store that was opened read-only.
    reads: Option<(PathBuf, View)>,
    committer: Option<JoinHandle<()>>,
    /// Files of the store that git tracks, until they are trusted.
    untrusted: Mutex<Option<TrackedFiles>>,
    // Dropped last, so that the directory is unlocked only when nothing uses it any more.
    _lock: Option<Lock>,
}

impl SledCheckpointer {
    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open already, [`CheckpointError::DamagedStore`] or
    /// [`CheckpointError::Format`] if it cannot be read, [`CheckpointError::Io`] if a system call fails.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        Self::open_with(path, SledOptions::default())
    }

    /// Opens the store in the directory `path` with `options`, or creates it.
    ///
    /// # Errors
    /// As [`SledCheckpointer::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SledOptions) -> Result<Self, CheckpointError> {
        let OpenedStore { disk, marker_file, lock, epoch } = open::open(path.as_ref(), &options)?;
        let untrusted = TrackedFiles::find(path.as_ref())?.filter(|tracked| !tracked.is_trusted());
        let shared = Arc::new(Shared::new(disk, marker_file, epoch, options.spend_reserve));
        let committer = thread::Builder::new().name("superstep-commit".into()).spawn({
            let shared = shared.clone();
            move || shared.run()
        });
        let committer = io_at(path.as_ref(), "start a thread for the store", committer)?;
        let untrusted = Mutex::new(untrusted);
        Ok(Self { shared: Some(shared), committer: Some(committer), untrusted, reads: None, _lock: Some(lock) })
    }

    /// Opens the store in the directory `path` read-only. Writes nothing, not even a lock file, and needs no free space
    /// and no write permission: use it for a read-only medium, a full disk, or a store in doubt. Other processes may
    /// read it at the same time, but not write it. Writes are refused with [`CheckpointError::NotWritable`].
    ///
    /// The whole log is read once; only the locations of its pages are held in memory, not the values.
    ///
    /// # Errors
    /// As [`SledCheckpointer::open`]; [`CheckpointError::Io`] if there is no store, [`CheckpointError::NotWritable`] if
    /// a compaction was interrupted, which only an opening for writing can finish.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        let ReadOnlyStore { view, lock } = open::read(path)?;
        let untrusted = TrackedFiles::find(path)?.filter(|tracked| !tracked.is_trusted());
        let reads = Some((path.into(), view));
        Ok(Self { shared: None, reads, committer: None, untrusted: Mutex::new(untrusted), _lock: lock })
    }

    /// Finishes the queue and unlocks the directory, without blocking the caller's thread.
    ///
    /// # Errors
    /// [`CheckpointError::Poisoned`] if a write failed.
    pub async fn close(self) -> Result<(), CheckpointError> {
        let closed = tokio::task::spawn_blocking(move || self.shut());
        closed.await.unwrap_or_else(|error| Err(CheckpointError::Poisoned { reason: error.to_string().into() }))
    }

    fn shut(mut self) -> Result<(), CheckpointError> {
        self.stop_committer();
        if self.reads.is_some() {
            return Ok(());
        }
        self.shared()?.check_poison()
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

    fn shared(&self) -> Result<&Shared, CheckpointError> {
        self.shared.as_deref().ok_or_else(|| match &self.reads {
            Some((path, _)) => {
                CheckpointError::NotWritable { path: path.clone(), reason: "it was opened to be read only".into() }
            }
            None => CheckpointError::Poisoned { reason: "it is closed".into() },
        })
    }

    fn view(&self) -> Result<&View, CheckpointError> {
        match &self.reads {
            Some((_, view)) => Ok(view),
            None => Ok(&self.shared()?.view),
        }
    }
}

impl Drop for SledCheckpointer {
    fn drop(&mut self) {
        self.stop_committer();
        let shared = self.shared.take();
        // sled writes on drop, and may panic on a failing disk.
        _ = catch_quietly(move || drop(shared));
    }
}

impl Checkpointer for SledCheckpointer {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        let claimed = self.shared().and_then(|shared| {
            let lease = shared.leases.claim(thread, claim)?;
            Ok((lease, shared.queue.barrier(thread)))
        });
        Box::pin(async move {
            let (lease, barrier) = claimed?;
            // Requests queued under an earlier lease are refused or acknowledged before the new one reads.
            if let Some(barrier) = barrier {
                Receipt::waiting(barrier).await?;
            }
            Ok(lease)
        })
    }

    fn commit(&self, commit: Commit) -> Receipt {
        let checked = self.shared().and_then(|shared| committer::check(shared, &commit).map(|()| shared));
        match checked {
            Ok(shared) => Receipt::waiting(shared.queue.push(commit.thread.clone(), Operation::Commit(commit))),
            Err(error) => Receipt::ready(Err(error)),
        }
    }

    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        let checked = self.shared().and_then(|shared| {
            shared.check_poison()?;
            Commit::check_posted(thread, &records).map(|()| shared)
        });
        match checked {
            Ok(shared) => Receipt::waiting(shared.queue.push(thread.clone(), Operation::Post(records))),
            Err(error) => Receipt::ready(Err(error)),
        }
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Head>, CheckpointError>> {
        Box::pin(ready(self.view().and_then(|view| view.now().head(thread))))
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        Box::pin(ready(self.view().and_then(|view| view.now().get(thread, &keys))))
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        Box::pin(ready(self.view().and_then(|view| view.now().scan(thread, &range, order, limit))))
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        Box::pin(ready(self.view().and_then(|view| view.now().threads(after, limit))))
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        let (thread, epoch) = (lease.thread().clone(), lease.epoch());
        let queued = self.shared().and_then(|shared| {
            shared.check_poison()?;
            shared.leases.check(&thread, epoch)?;
            Ok(shared.queue.push(thread, Operation::Delete(epoch)))
        });
        Box::pin(async move { Receipt::waiting(queued?).await })
    }

    fn is_claimed(&self, thread: &ThreadId) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.leases.is_claimed(thread))
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
