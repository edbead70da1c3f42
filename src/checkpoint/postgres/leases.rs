//! The leases that one handle on a store holds: until when, by the clock of this process, and whether they were lost. Knows no
//! connection. The table of the server decides who holds a thread; this one only knows who must stop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as StdInstant, SystemTime};

use superstep_base::time::system_time;
use tokio::time::Instant;

use crate::checkpoint::{CheckpointError, LeaseHandle, LeaseOwner, OwnerRequest, ThreadHead, ThreadId};

/// The maximum number of marked ends; beyond it they are forgotten.
const MARKS: usize = 4096;

/// A lease as its commits need it.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) thread: ThreadId,
    /// The number of the thread's row.
    pub(super) id: i64,
    pub(super) epoch: u64,
    /// The engine for which the thread was claimed.
    pub(super) engine: Option<&'static str>,
    /// The number of the newest acknowledged commit under this lease.
    pub(super) commits: AtomicU64,
    /// Set once the last commit under this lease is queued: the server may have released the thread already.
    is_ending: AtomicBool,
    holder: LeaseHandle,
    /// The head that the claim found, until somebody asks for it or writes.
    head: Mutex<Option<Option<ThreadHead>>>,
    /// When the lease counts as lost, unless it is renewed before.
    end: Mutex<Instant>,
}

impl Ticket {
    pub(super) fn new(thread: ThreadId, id: i64, epoch: u64, holder: LeaseHandle, end: Instant) -> Self {
        Self {
            thread,
            id,
            epoch,
            engine: None,
            commits: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            holder,
            head: Mutex::default(),
            end: Mutex::new(end),
        }
    }

    pub(super) fn claimed_for(self, engine: Option<&'static str>) -> Self {
        Self { engine, ..self }
    }

    pub(super) fn with_head(self, head: Option<ThreadHead>) -> Self {
        Self { head: Mutex::new(Some(head)), ..self }
    }

    /// Returns the head that the claim found, once: a run that begins needs no second round trip for it.
    pub(super) fn take_head(&self) -> Option<Option<ThreadHead>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Checks that the loss of the lease was not reported.
    pub(super) fn check(&self) -> Result<(), CheckpointError> {
        self.holder.loss().map_or(Ok(()), Err)
    }

    /// Waits until the loss of the lease is reported.
    pub(super) async fn lost(&self) -> CheckpointError {
        self.holder.reported().await.unwrap_or_else(|| self.stale(self.epoch, None))
    }

    pub(super) fn report(&self, error: CheckpointError) {
        self.holder.report_loss(error);
    }

    /// Returns whether the holder was asked to stop at once.
    pub(super) fn is_cancelled(&self) -> bool {
        self.holder.is_cancelled()
    }

    /// Passes a request to the holder.
    pub(super) fn deliver(&self, request: OwnerRequest) {
        self.holder.deliver(request);
    }

    pub(super) fn end(&self) -> Instant {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn extend(&self, end: Instant) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    pub(super) fn next_commit(&self) -> u64 {
        self.commits.load(Ordering::Acquire) + 1
    }

    pub(super) fn acknowledge(&self, commit: u64) {
        self.commits.store(commit, Ordering::Release);
    }

    /// Notes whether the last commit is queued, with which the server releases the thread.
    pub(super) fn set_ending(&self, is_ending: bool) {
        self.is_ending.store(is_ending, Ordering::Release);
    }

    /// Returns whether the last commit is queued.
    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Returns the error of a lease that was lost to `owner`.
    pub(super) fn stale(&self, current: u64, owner: Option<Arc<LeaseOwner>>) -> CheckpointError {
        CheckpointError::StaleLease { thread: self.thread.clone(), held: self.epoch, current, owner }
    }
}

/// The leases of one handle.
#[derive(Debug)]
pub(super) struct LeaseBook {
    /// The time for which the server grants a lease.
    pub(super) time: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    live: HashMap<ThreadId, Arc<Ticket>>,
    /// The epochs of leases whose holders marked their end, of threads that this handle has not claimed since.
    ended: HashMap<ThreadId, u64>,
}

impl LeaseBook {
    pub(super) fn new(time: Duration) -> Self {
        Self { time, inner: Mutex::default() }
    }

    /// Returns when a lease counts as lost that was granted or renewed by a statement sent at `sent`: a tenth of its time before
    /// others may claim the thread.
    pub(super) fn end(&self, sent: Instant) -> Instant {
        sent + self.time * 9 / 10
    }

    /// Enters a lease, and returns the one that it replaces.
    pub(super) fn insert(&self, ticket: Arc<Ticket>) -> Option<Arc<Ticket>> {
        self.lock().live.insert(ticket.thread.clone(), ticket)
    }

    /// Takes the mark of the lease before, if it has this epoch.
    pub(super) fn take_mark(&self, thread: &ThreadId, epoch: u64) -> Option<u64> {
        self.lock().ended.remove(thread).filter(|ended| *ended == epoch)
    }

    /// Returns the lease of a thread if it has this epoch and was not lost.
    pub(super) fn find(&self, thread: &ThreadId, epoch: u64) -> Result<Arc<Ticket>, CheckpointError> {
        let inner = self.lock();
        let found = inner.live.get(thread);
        let Some(ticket) = found.filter(|ticket| ticket.epoch == epoch) else {
            let current = found.map_or(epoch, |ticket| ticket.epoch);
            return Err(CheckpointError::StaleLease { thread: thread.clone(), held: epoch, current, owner: None });
        };
        ticket.check().map(|()| Arc::clone(ticket))
    }

    /// Returns the lease of a thread unless it was lost.
    pub(super) fn live_ticket(&self, thread: &ThreadId) -> Option<Arc<Ticket>> {
        self.lock().live.get(thread).filter(|ticket| ticket.check().is_ok()).cloned()
    }

    /// Removes a lease, and returns it.
    pub(super) fn remove(&self, thread: &ThreadId, epoch: u64) -> Option<Arc<Ticket>> {
        let mut inner = self.lock();
        inner.live.get(thread).filter(|ticket| ticket.epoch == epoch)?;
        inner.live.remove(thread)
    }

    pub(super) fn mark_end(&self, thread: &ThreadId, epoch: u64) {
        let mut inner = self.lock();
        if inner.live.get(thread).is_some_and(|ticket| ticket.epoch == epoch) {
            if inner.ended.len() >= MARKS {
                inner.ended.clear();
            }
            inner.ended.insert(thread.clone(), epoch);
        }
    }

    /// Returns all leases whose loss was not reported.
    pub(super) fn live(&self) -> Vec<Arc<Ticket>> {
        self.lock().live.values().filter(|ticket| ticket.check().is_ok()).cloned().collect()
    }

    /// Returns whether somebody holds a lease and has more to write under it.
    pub(super) fn is_held(&self, ticket: &Ticket) -> bool {
        !ticket.is_ending() && self.lock().live.get(&ticket.thread).is_some_and(|live| live.epoch == ticket.epoch)
    }

    /// Returns all leases.
    pub(super) fn all(&self) -> Vec<Arc<Ticket>> {
        self.lock().live.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reading that is further behind was not delayed on its way: somebody has set the clock, or the two drift apart.
const DELAY: Duration = Duration::from_millis(200);

/// The clock of the server.
#[derive(Debug, Default)]
pub(super) struct ServerClock(Mutex<Option<(StdInstant, SystemTime)>>);

impl ServerClock {
    /// Takes a reading, in milliseconds since 1970, that has just arrived. It is late by the time of its way, so of two readings
    /// the one that is ahead counts: a thread that the server has found to be due never seems to sleep.
    pub(super) fn note(&self, millis: u64) {
        let (read, known) = (system_time(millis), self.time());
        let is_delayed = |known: SystemTime| known.duration_since(read).is_ok_and(|behind| behind < DELAY);
        if !known.is_some_and(is_delayed) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((StdInstant::now(), read));
        }
    }

    /// Returns the time; `None` before the first reading.
    pub(super) fn time(&self) -> Option<SystemTime> {
        let noted = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.map(|(at, read)| read + at.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(clock: &ServerClock, millis: u64) -> i128 {
        let now = clock.time().unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        i128::try_from(now.as_millis()).unwrap() - i128::from(millis)
    }

    #[test]
    fn a_delayed_reading_does_not_set_it_back() {
        let clock = ServerClock::default();
        assert_eq!(clock.time(), None);
        clock.note(1_000_000);
        clock.note(999_900);
        assert!(since(&clock, 1_000_000) >= 0);
        clock.note(2_000_000);
        assert!(since(&clock, 2_000_000) >= 0);
        clock.note(1_000_000);
        assert!(since(&clock, 2_000_000) < 0, "somebody has set it");
    }
}
