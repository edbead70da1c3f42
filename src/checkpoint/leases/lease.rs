//! One writer per thread: the guard that a run holds, what a store does with it, and the table of leases that stores of one
//! process keep.

use std::collections::HashMap;
use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::handle::{LeaseHandle, OwnerRequest};
use super::live::{LiveLease, LiveLeases};
use crate::checkpoint::commit::BoxFuture;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::key::ThreadId;
use crate::checkpoint::owner::LeaseOwner;
use crate::checkpoint::watch::StoreWatch;

/// Mode of claiming a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Fails while another lease is alive.
    IfFree,
    /// Takes over: from now on commits under the earlier lease are refused.
    TakeOver,
    /// Takes over a lease that was claimed for the same engine, and fails while any other is alive. For an engine, such as
    /// Restate, that calls for a thread one worker at a time: it need not wait for the lease of a worker that died.
    ForEngine(&'static str),
}

impl Claim {
    /// Returns the engine for which a thread is claimed.
    pub(in crate::checkpoint) fn engine(self) -> Option<&'static str> {
        match self {
            Self::ForEngine(engine) => Some(engine),
            Self::IfFree | Self::TakeOver => None,
        }
    }

    /// Returns true if the lease before, which was claimed for `engine`, may be taken over.
    pub(in crate::checkpoint) fn takes_over(self, engine: Option<&str>) -> bool {
        match self {
            Self::IfFree => false,
            Self::TakeOver => true,
            Self::ForEngine(own) => engine == Some(own),
        }
    }
}

/// The store's side of a lease.
pub trait LeaseKeeper: std::fmt::Debug + Send + Sync + 'static {
    /// Frees the thread, if `epoch` is still its lease. Later commits under it are refused.
    ///
    /// # Errors
    /// If the store cannot be written; the lease ends with its time then.
    fn release<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<(), CheckpointError>>;

    /// Frees the thread as [`release`](Self::release) does, and remembers that it is not due until somebody else writes it.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    fn leave<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<(), CheckpointError>> {
        self.release(thread, epoch)
    }

    /// Frees the thread of a lease that was dropped without a [`release`](Self::release). Must not block.
    fn release_dropped(&self, thread: &ThreadId, epoch: u64);

    /// Extends the lease by its full time. Does nothing for a lease that lasts as long as the process.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if it was lost; if the store cannot be written.
    fn renew<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<(), CheckpointError>> {
        _ = (thread, epoch);
        Box::pin(ready(Ok(())))
    }

    /// Notes that the work under a lease has ended with all records stored, so that the next lease may
    /// follow it: what its holder kept of the thread is still true then.
    fn mark_end(&self, thread: &ThreadId, epoch: u64) {
        _ = (thread, epoch);
    }
}

/// Right to write one thread, as a guard: dropping it frees the thread, without waiting for a store elsewhere.
///
/// A lease is lost when another caller claims the thread, and, if the store's leases end with a time, shortly before that
/// time while it cannot be renewed. Its holder then stops: whatever it commits is refused.
#[derive(Debug)]
pub struct Lease {
    thread: ThreadId,
    epoch: u64,
    owner: Arc<LeaseOwner>,
    follows: Option<u64>,
    follows_cancel: bool,
    handle: LeaseHandle,
    keeper: Arc<dyn LeaseKeeper>,
    is_released: AtomicBool,
}

impl Lease {
    /// Returns a lease of a store, for your own checkpointers. A store of one process uses [`Leases`].
    ///
    /// `follows` is the epoch of the lease before, if its holder [marked](LeaseKeeper::mark_end) its end and nobody has
    /// claimed the thread in between.
    pub fn new(
        thread: ThreadId,
        epoch: u64,
        owner: Arc<LeaseOwner>,
        follows: Option<u64>,
        keeper: Arc<dyn LeaseKeeper>,
    ) -> Self {
        let (handle, is_released) = (LeaseHandle::default(), AtomicBool::new(false));
        Self { thread, epoch, owner, follows, follows_cancel: false, handle, keeper, is_released }
    }

    /// Sets whether the run before was cancelled and nobody has written the thread since.
    #[must_use]
    pub fn after_cancel(mut self, is_cancelled: bool) -> Self {
        self.follows_cancel = is_cancelled;
        self
    }

    /// Returns true if the run before was cancelled and nobody has written the thread since: then it is not resumed unless
    /// somebody asks for that.
    pub fn follows_cancel(&self) -> bool {
        self.follows_cancel
    }

    /// Returns the thread.
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the epoch that commits must carry.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns who holds it, and until when it was held when it was claimed.
    pub fn owner(&self) -> &LeaseOwner {
        &self.owner
    }

    /// Returns the handle with which the store reaches the holder.
    pub fn handle(&self) -> LeaseHandle {
        self.handle.clone()
    }

    /// Waits until the lease is lost, and returns the error that says to whom.
    pub async fn lost(&self) -> CheckpointError {
        self.handle.reported().await.unwrap_or_else(|| self.ended())
    }

    fn ended(&self) -> CheckpointError {
        CheckpointError::StaleLease { thread: self.thread.clone(), held: self.epoch, current: self.epoch, owner: None }
    }

    /// Returns a token that is cancelled when the holder is asked to stop at once.
    pub fn cancel(&self) -> &CancellationToken {
        self.handle.0.cancel.get()
    }

    /// Returns a token that is cancelled when the holder is asked to stop after its superstep.
    pub fn drain(&self) -> &CancellationToken {
        self.handle.0.drain.get()
    }

    /// Returns true if the holder was asked to stop at once.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.handle.is_cancelled()
    }

    /// Returns true if the holder was asked to stop after its superstep.
    pub(crate) fn is_draining(&self) -> bool {
        self.handle.is_draining()
    }

    /// Checks that the lease was not lost, as far as the store has noticed.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if it was.
    pub fn check(&self) -> Result<(), CheckpointError> {
        self.handle.loss().map_or(Ok(()), Err)
    }

    /// Extends the lease by its full time. Stores do that by themselves while it is held.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if it was lost; if the store cannot be written.
    pub async fn renew(&self) -> Result<(), CheckpointError> {
        self.check()?;
        self.keeper.renew(&self.thread, self.epoch).await
    }

    /// Frees the thread now, even if the lease is still referenced elsewhere: later commits under it are refused.
    ///
    /// # Errors
    /// If the store cannot be written; the lease ends with its time then.
    pub async fn release(&self) -> Result<(), CheckpointError> {
        if self.is_released.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.keeper.release(&self.thread, self.epoch).await
    }

    /// Frees the thread as [`release`](Self::release) does; it is not [due](crate::checkpoint::Checkpointer::due) again until somebody
    /// else writes it: for a breakpoint, a needed migration, or a person's cancel.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub async fn leave(&self) -> Result<(), CheckpointError> {
        if self.is_released.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.keeper.leave(&self.thread, self.epoch).await
    }

    /// Frees the thread after work that is none of a run: one whose run was cancelled stays so.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub async fn release_unchanged(&self) -> Result<(), CheckpointError> {
        match self.follows_cancel {
            true => {
                self.handle.0.cancel.cancel();
                self.leave().await
            }
            false => self.release().await,
        }
    }

    /// Frees the thread without waiting for it.
    pub(crate) fn release_soon(&self) {
        if !self.is_released.swap(true, Ordering::AcqRel) {
            self.keeper.release_dropped(&self.thread, self.epoch);
        }
    }

    /// Returns the epoch of the lease before, if its holder marked its end and nobody has claimed the thread in between:
    /// then no record of the thread has changed since, apart from signals.
    pub(crate) fn follows(&self) -> Option<u64> {
        self.follows
    }

    /// Marks the end of the work under this lease: the next lease [follows](Self::follows) it.
    pub(crate) fn mark_end(&self) {
        self.keeper.mark_end(&self.thread, self.epoch);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release_soon();
    }
}

/// Leases of one open store, in one process. Epochs grow across all threads, starting above the epoch at which the store
/// was opened.
#[derive(Clone, Debug)]
pub struct Leases(Arc<LeaseTable>);

#[derive(Debug)]
struct LeaseTable {
    owner: Arc<LeaseOwner>,
    inner: Mutex<Inner>,
    hints: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Inner {
    newest: u64,
    live: LiveLeases,
    /// The epochs of leases whose holders marked their end, of threads that nobody has claimed since.
    ended: HashMap<ThreadId, u64>,
    /// The threads that are not due until somebody writes them, and whether somebody cancelled them.
    left: HashMap<ThreadId, bool>,
}

/// The maximum number of marked ends; beyond it they are forgotten.
const MARKS: usize = 4096;

impl Default for Leases {
    fn default() -> Self {
        Self::above(0)
    }
}

impl Leases {
    /// Returns a table whose epochs start above `floor`.
    pub fn above(floor: u64) -> Self {
        let inner = Mutex::new(Inner { newest: floor, ..Inner::default() });
        let (owner, hints) = (Arc::new(LeaseOwner::this_process()), watch::Sender::default());
        Self(Arc::new(LeaseTable { owner, inner, hints }))
    }

    /// Claims a thread.
    ///
    /// # Errors
    /// [`CheckpointError::ThreadBusy`] if a lease is alive and `claim` does not take over.
    pub fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, CheckpointError> {
        let mut inner = self.0.lock();
        if inner.live.get(thread).is_some_and(|live| !claim.takes_over(live.engine)) {
            return Err(CheckpointError::ThreadBusy { thread: thread.clone(), owner: Arc::clone(&self.0.owner) });
        }
        inner.newest += 1;
        let epoch = inner.newest;
        let follows = inner.ended.remove(thread);
        let is_cancelled = inner.left.get(thread) == Some(&true);
        let lease = Lease::new(thread.clone(), epoch, Arc::clone(&self.0.owner), follows, Arc::clone(&self.0) as _)
            .after_cancel(is_cancelled);
        let live = LiveLease { epoch, engine: claim.engine(), handle: lease.handle(), has_mail: false };
        let earlier = inner.live.insert(thread.clone(), live);
        drop(inner);
        if let Some(earlier) = earlier {
            earlier.handle.report_loss(self.0.stale(thread, earlier.epoch, Some(epoch)));
        }
        Ok(lease)
    }

    /// Checks that `epoch` is the live lease of the thread.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if it is not.
    pub fn check(&self, thread: &ThreadId, epoch: u64) -> Result<(), CheckpointError> {
        let mut inner = self.0.lock();
        if !inner.live.has(thread, epoch) {
            return Err(self.0.stale(thread, epoch, inner.live.get(thread).map(|live| live.epoch)));
        }
        if !inner.left.is_empty() {
            inner.left.remove(thread);
        }
        Ok(())
    }

    /// Notes that records were [posted](crate::checkpoint::Checkpointer::post) to a thread.
    pub fn note_post(&self, thread: &ThreadId) {
        let mut inner = self.0.lock();
        inner.left.remove(thread);
        if let Some(live) = inner.live.get_mut(thread) {
            live.has_mail = true;
        }
        drop(inner);
        self.0.hints.send_replace(());
    }

    /// Returns hints that a thread was freed or got records.
    pub fn watch(&self) -> StoreWatch {
        StoreWatch::new(self.0.hints.subscribe())
    }

    /// Returns the threads that are held.
    pub(in crate::checkpoint) fn held_threads(&self) -> Vec<ThreadId> {
        self.0.lock().live.threads().cloned().collect()
    }

    /// Returns true if a thread is not held, and nobody has left it; `with_left`: nobody has cancelled it.
    pub(in crate::checkpoint) fn is_available(&self, thread: &ThreadId, with_left: bool) -> bool {
        let inner = self.0.lock();
        let is_left = inner.left.get(thread).is_some_and(|is_cancelled| *is_cancelled || !with_left);
        !inner.live.contains(thread) && !is_left
    }

    /// Checks that no claim later than `epoch` is alive: commits queued under a lease that has ended since remain
    /// valid.
    ///
    /// # Errors
    /// [`CheckpointError::StaleLease`] if one is.
    pub fn check_not_superseded(&self, thread: &ThreadId, epoch: u64) -> Result<(), CheckpointError> {
        match self.0.live_epoch(thread) {
            Some(current) if current > epoch => Err(self.0.stale(thread, epoch, Some(current))),
            _ => Ok(()),
        }
    }

    /// Passes a request to whoever holds a thread, and returns who that is.
    pub fn send(&self, thread: &ThreadId, request: OwnerRequest) -> Option<Arc<LeaseOwner>> {
        self.0.lock().live.get(thread)?.handle.deliver(request);
        Some(Arc::clone(&self.0.owner))
    }

    /// Returns the owner of the live lease on a thread.
    pub fn owner(&self, thread: &ThreadId) -> Option<Arc<LeaseOwner>> {
        self.0.live_epoch(thread).map(|_| Arc::clone(&self.0.owner))
    }
}

impl LeaseTable {
    fn live_epoch(&self, thread: &ThreadId) -> Option<u64> {
        self.lock().live.get(thread).map(|live| live.epoch)
    }

    /// Frees a thread, if `epoch` is still its lease. One that is left is not due until somebody writes it.
    fn free(&self, thread: &ThreadId, epoch: u64, is_left: bool) {
        let mut inner = self.lock();
        let Some(live) = inner.live.get(thread).filter(|live| live.epoch == epoch) else { return };
        // Records that came meanwhile are of somebody else.
        if is_left && !live.has_mail {
            let is_cancelled = live.handle.is_cancelled();
            inner.left.insert(thread.clone(), is_cancelled);
        }
        inner.live.remove(thread);
        drop(inner);
        self.hints.send_replace(());
    }

    fn stale(&self, thread: &ThreadId, held: u64, current: Option<u64>) -> CheckpointError {
        let owner = current.map(|_| Arc::clone(&self.owner));
        CheckpointError::StaleLease { thread: thread.clone(), held, current: current.unwrap_or(held), owner }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseKeeper for LeaseTable {
    fn release<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<(), CheckpointError>> {
        self.free(thread, epoch, false);
        Box::pin(ready(Ok(())))
    }

    fn leave<'a>(&'a self, thread: &'a ThreadId, epoch: u64) -> BoxFuture<'a, Result<(), CheckpointError>> {
        self.free(thread, epoch, true);
        Box::pin(ready(Ok(())))
    }

    fn release_dropped(&self, thread: &ThreadId, epoch: u64) {
        self.free(thread, epoch, false);
    }

    fn mark_end(&self, thread: &ThreadId, epoch: u64) {
        let mut inner = self.lock();
        if inner.live.get(thread).is_some_and(|live| live.epoch == epoch) {
            if inner.ended.len() >= MARKS {
                inner.ended.clear();
            }
            inner.ended.insert(thread.clone(), epoch);
        }
    }
}
