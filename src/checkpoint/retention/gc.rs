//! Removes everything that no kept checkpoint reaches: mark, then sweep in commits of bounded size, each of which
//! leaves the thread readable. A crash in between loses nothing that is kept; the next removal continues.
//!
//! Checkpoints are removed first, newest first, so that no remaining one lacks what it needs; then the rest.

use super::policy::Retention;
use super::report::{Swept, SweptStore, SweptThread};
use crate::checkpoint::threads::pages::{LAST, Pages};
use crate::checkpoint::threads::reach::Reach;
use crate::checkpoint::threads::thread_records::ThreadRecords;
use crate::checkpoint::unknown_thread::unknown_thread;
use crate::checkpoint::{CheckpointError, Checkpointer, Claim, Commit, Head, Key, Lease, ThreadId};

/// Maximum number of keys in one commit, and of bytes of their records.
const KEYS: usize = 512;
const BYTES: usize = 4 << 20;

/// Removes everything of a thread that the policy does not keep. The thread is locked meanwhile: a run that starts then
/// is refused.
///
/// sled does not return disk space by itself: see `SledCheckpointer::compact`.
///
/// # Errors
/// [`CheckpointError::UnknownThread`]; [`CheckpointError::ThreadBusy`] while a run holds the thread;
/// [`CheckpointError::Damaged`], with nothing removed, if its records cannot be read; if the store fails. Kept
/// checkpoints are whole in every case.
pub async fn gc(store: &dyn Checkpointer, thread: &ThreadId, policy: &Retention) -> Result<Swept, CheckpointError> {
    let lease = store.claim(thread, Claim::IfFree).await?;
    let Some(head) = store.head(thread).await? else { return Err(unknown_thread(store, thread).await) };
    let decoded = ThreadRecords::read(store, thread).await?;
    let roots = policy.roots(&decoded, head);
    if let Some(missing) = head.checkpoint.filter(|id| !decoded.checkpoints.contains_key(id)) {
        return Err(CheckpointError::damaged(thread, Key::Checkpoint(missing), "it is missing"));
    }
    let reach = Reach::from(&decoded, roots);
    let mut sweep = Sweep { store, lease: &lease, head, gone: vec![], bytes: 0, swept: Swept::default() };
    sweep.swept.kept = reach.checkpoints.len();
    sweep.checkpoints(&decoded, &reach).await?;
    sweep.rest(&decoded, &reach).await?;
    Ok(sweep.swept)
}

/// Removes everything that the policy does not keep, in all threads. Threads that a run holds, or that are damaged, are
/// skipped and named in the report.
///
/// # Errors
/// If the store cannot be read or written.
pub async fn gc_all(store: &dyn Checkpointer, policy: &Retention) -> Result<SweptStore, CheckpointError> {
    let mut report = SweptStore::default();
    loop {
        let last = report.threads.last().map(|swept: &SweptThread| swept.thread.clone());
        let page = store.threads(last.as_ref(), 256).await?;
        if page.is_empty() {
            return Ok(report);
        }
        for thread in page {
            let (swept, passed_over) = match gc(store, &thread, policy).await {
                Ok(swept) => (swept, None),
                Err(error) if is_of_one_thread(&error) => (Swept::default(), Some(error.to_string())),
                Err(error) => return Err(error),
            };
            report.threads.push(SweptThread { thread, swept, passed_over });
        }
    }
}

/// Returns whether an error concerns only this thread.
fn is_of_one_thread(error: &CheckpointError) -> bool {
    matches!(
        error,
        CheckpointError::ThreadBusy { .. }
            | CheckpointError::StaleLease { .. }
            | CheckpointError::UnknownThread { .. }
            | CheckpointError::Damaged { .. }
            | CheckpointError::Format { .. }
    )
}

struct Sweep<'a> {
    store: &'a dyn Checkpointer,
    lease: &'a Lease,
    head: Head,
    gone: Vec<Key>,
    bytes: usize,
    swept: Swept,
}

impl Sweep<'_> {
    /// Removes unreached checkpoints: those of the root graph first, each before the ones it builds on.
    async fn checkpoints(&mut self, decoded: &ThreadRecords, reach: &Reach) -> Result<(), CheckpointError> {
        for root in [true, false] {
            let these = decoded.checkpoints.iter().rev().filter(|(_, made)| made.root == root);
            for (id, made) in these.filter(|(id, _)| !reach.checkpoints.contains(**id)) {
                let key = made.key(*id);
                let found = self.store.get(self.lease.thread(), vec![key.clone()]).await?.pop().flatten();
                self.swept.checkpoints += 1;
                self.remove(key, found.map_or(0, |bytes| bytes.len())).await?;
            }
        }
        self.flush().await
    }

    /// Removes all other unreached records.
    async fn rest(&mut self, decoded: &ThreadRecords, reach: &Reach) -> Result<(), CheckpointError> {
        let thread = self.lease.thread().clone();
        let mut pages = Pages::of(self.store, &thread, Key::About..=LAST);
        while let Some(page) = pages.next().await? {
            for (key, bytes) in page {
                if !keeps(decoded, reach, &key) {
                    self.remove(key, bytes.len()).await?;
                }
            }
        }
        self.flush().await
    }

    async fn remove(&mut self, key: Key, bytes: usize) -> Result<(), CheckpointError> {
        self.swept.records += 1;
        self.swept.bytes += bytes as u64;
        self.bytes += bytes;
        self.gone.push(key);
        if self.gone.len() >= KEYS || self.bytes >= BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), CheckpointError> {
        if self.gone.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let (thread, epoch) = (self.lease.thread().clone(), self.lease.epoch());
        let (head, deletes) = (self.head, std::mem::take(&mut self.gone));
        self.store.commit(Commit { thread, epoch, expected: head.checkpoint, head, puts: vec![], deletes }).await
    }
}

/// Returns whether a record is kept; a tag is kept with its checkpoint.
fn keeps(decoded: &ThreadRecords, reach: &Reach, key: &Key) -> bool {
    match key {
        Key::Tag(name) => decoded.tags.get(name).is_none_or(|tag| reach.checkpoints.contains(tag.checkpoint)),
        key => reach.keeps(key),
    }
}
