//! [`SledCheckpointer`]: the contract, answered by reads on the caller's thread and by orders for the committer.

use std::future::ready;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::committer::{self, Shared};
use super::files::io_at;
use super::lock::Lock;
use super::open::{self, Opened, Readable};
use super::options::SledOptions;
use super::queue::Task;
use super::quiet::caught_quietly;
use super::tracked::Tracked;
use super::view::View;
use crate::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Head, Key, Lease, Order, Receipt, Record, ThreadId,
};

/// Keeps checkpoints in a directory, for one process at a time. LangGraph: `SqliteSaver`.
///
/// Every acknowledged commit survives a crash and a power cut. Dropping it finishes what is queued and frees the
/// directory, which may block for the time of a sync; [`SledCheckpointer::close`] does so where blocking is fine. The
/// directory is readable by its owner only (0700); its contents are not encrypted, and it never shrinks. No link inside it
/// is followed.
///
/// A store whose files a git repository tracks came with a clone: its threads may be read, but not run until a person
/// [trusts](crate::checkpoint::trust) one of them, and with it the whole store, as it is tracked then.
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
    /// Where it was opened, and what is read there, if it may only be read.
    reads: Option<(PathBuf, View)>,
    committer: Option<JoinHandle<()>>,
    /// What git tracks of the store, until it is trusted.
    untrusted: Mutex<Option<Tracked>>,
    // Dropped last: the directory is free when nothing of ours touches it any more.
    _lock: Option<Lock>,
}

impl SledCheckpointer {
    /// Opens the store in the directory `path`, or creates it.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is open already, [`CheckpointError::DamagedStore`] or
    /// [`CheckpointError::Format`] if it cannot be read, [`CheckpointError::Io`] if the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        Self::open_with(path, SledOptions::default())
    }

    /// Opens the store in the directory `path` with `options`, or creates it.
    ///
    /// # Errors
    /// As [`SledCheckpointer::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SledOptions) -> Result<Self, CheckpointError> {
        let Opened { disk, tip, lock, epoch } = open::open(path.as_ref(), &options)?;
        let untrusted = Tracked::find(path.as_ref())?.filter(|tracked| !tracked.is_trusted());
        let shared = Arc::new(Shared::new(disk, tip, epoch, options.spend_reserve));
        let committer = thread::Builder::new().name("superstep-commit".into()).spawn({
            let shared = shared.clone();
            move || shared.run()
        });
        let committer = io_at(path.as_ref(), "start a thread for the store", committer)?;
        let untrusted = Mutex::new(untrusted);
        Ok(Self { shared: Some(shared), committer: Some(committer), untrusted, reads: None, _lock: Some(lock) })
    }

    /// Opens the store in the directory `path` for reading alone. Nothing is written, not even a lock's file: this needs no
    /// free space and no permission to write, so it is the way to look at a store on a read-only medium, on a full disk, or
    /// while in doubt. Others may read it at the same time; nobody may write it. Whatever writes is refused with
    /// [`CheckpointError::NotWritable`].
    ///
    /// The whole log is read once. In memory is where its pages are, no values.
    ///
    /// # Errors
    /// As [`SledCheckpointer::open`]; [`CheckpointError::Io`] if there is no store, [`CheckpointError::NotWritable`] if a
    /// compaction was interrupted, which only an opening for writing finishes.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        let Readable { view, lock } = open::read(path)?;
        let untrusted = Tracked::find(path)?.filter(|tracked| !tracked.is_trusted());
        let reads = Some((path.into(), view));
        Ok(Self { shared: None, reads, committer: None, untrusted: Mutex::new(untrusted), _lock: lock })
    }

    /// Finishes what is queued and frees the directory, without blocking the caller's thread.
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
            // A panic on it has been answered to its callers already.
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
        // sled writes once more when it goes, and may panic on a disk that fails.
        _ = caught_quietly(move || drop(shared));
    }
}

impl Checkpointer for SledCheckpointer {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        let claimed = self.shared().and_then(|shared| {
            let lease = shared.leases.claim(thread, claim)?;
            Ok((lease, shared.queue.settled(thread)))
        });
        Box::pin(async move {
            let (lease, settled) = claimed?;
            // What an earlier lease has queued is refused or acknowledged before the new one reads.
            if let Some(settled) = settled {
                Receipt::waiting(settled).await?;
            }
            Ok(lease)
        })
    }

    fn commit(&self, commit: Commit) -> Receipt {
        let checked = self.shared().and_then(|shared| committer::check(shared, &commit).map(|()| shared));
        match checked {
            Ok(shared) => Receipt::waiting(shared.queue.push(commit.thread.clone(), Task::Commit(commit))),
            Err(error) => Receipt::ready(Err(error)),
        }
    }

    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        let checked = self.shared().and_then(|shared| {
            shared.check_poison()?;
            Commit::check_posted(thread, &records).map(|()| shared)
        });
        match checked {
            Ok(shared) => Receipt::waiting(shared.queue.push(thread.clone(), Task::Post(records))),
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
            Ok(shared.queue.push(thread, Task::Delete(epoch)))
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
        untrusted.as_ref().map_or(Ok(()), Tracked::trust)?;
        *untrusted = None;
        Ok(())
    }
}
