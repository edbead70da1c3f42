//! Checkpointer that fails on demand, so that a test can interrupt a run at every commit. Knows nothing of how its
//! inner store keeps records.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::checkpointer::Checkpointer;
use super::commit::{BoxFuture, Commit, Receipt, Record, ThreadHead};
use super::error::CheckpointError;
use super::item::{Item, ItemScan, ItemWrite};
use super::key::{ItemKey, Key, Order, ThreadId};
use super::leases::handle::OwnerRequest;
use super::leases::lease::{Claim, Lease};
use super::listing::due::{DueQuery, DueThreads};
use super::listing::query::ThreadQuery;
use super::listing::summary::ListedThread;
use super::owner::LeaseOwner;
use super::watch::StoreWatch;

/// Forwards to another checkpointer up to a chosen commit, which fails, as do all later ones.
///
/// Reads and claims keep working, so that a test can inspect the store.
#[derive(Debug)]
pub struct FailingCheckpointer {
    inner: Arc<dyn Checkpointer>,
    fail_at: u64,
    fault: Fault,
    commits: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Refused,
    AckLost,
}

impl FailingCheckpointer {
    /// Returns a checkpointer whose `fail_at`-th commit (counting from 1) and all later ones fail and store nothing.
    pub fn new(inner: Arc<dyn Checkpointer>, fail_at: u64) -> Self {
        Self { inner, fail_at, fault: Fault::Refused, commits: AtomicU64::new(0) }
    }

    /// Returns a checkpointer whose `fail_at`-th commit is stored but fails, as in a crash before the acknowledgement.
    /// All later ones fail and store nothing.
    pub fn losing_ack(inner: Arc<dyn Checkpointer>, fail_at: u64) -> Self {
        Self { fault: Fault::AckLost, ..Self::new(inner, fail_at) }
    }

    /// Returns the number of requested commits, failed ones included. Posts and writes of items count too.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    fn has_failed(&self) -> bool {
        self.commits() >= self.fail_at
    }

    /// Counts a write; returns whether it is made, and whether its result is passed on.
    fn count(&self) -> (bool, bool) {
        let count = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let is_passed_on = count < self.fail_at;
        (is_passed_on || (count == self.fail_at && self.fault == Fault::AckLost), is_passed_on)
    }

    fn write(&self, write: impl FnOnce() -> Receipt) -> Receipt {
        let (is_made, is_passed_on) = self.count();
        let receipt = is_made.then(write);
        receipt.filter(|_| is_passed_on).unwrap_or_else(|| Receipt::ready(Err(injected_error())))
    }
}

fn injected_error() -> CheckpointError {
    CheckpointError::Poisoned { reason: "this commit was chosen to fail".into() }
}

impl Checkpointer for FailingCheckpointer {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> BoxFuture<'_, Result<Lease, CheckpointError>> {
        self.inner.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        self.write(|| self.inner.commit(commit))
    }

    fn post(&self, thread: &ThreadId, records: Vec<Record>) -> Receipt {
        self.write(|| self.inner.post(thread, records))
    }

    fn post_new<'a>(
        &'a self,
        thread: &'a ThreadId,
        records: Vec<Record>,
    ) -> BoxFuture<'a, Result<(), CheckpointError>> {
        let (is_made, is_passed_on) = self.count();
        let posted = is_made.then(|| self.inner.post_new(thread, records));
        Box::pin(async move {
            match posted {
                Some(posted) if is_passed_on => posted.await,
                Some(posted) => posted.await.and(Err(injected_error())),
                None => Err(injected_error()),
            }
        })
    }

    fn head(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<ThreadHead>, CheckpointError>> {
        self.inner.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        self.inner.get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, CheckpointError>> {
        self.inner.scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> BoxFuture<'_, Result<Vec<ThreadId>, CheckpointError>> {
        self.inner.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> BoxFuture<'_, Result<(), CheckpointError>> {
        if self.has_failed() {
            return Box::pin(std::future::ready(Err(injected_error())));
        }
        self.inner.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.inner.owner(thread)
    }

    fn send(
        &self,
        thread: &ThreadId,
        request: OwnerRequest,
    ) -> BoxFuture<'_, Result<Option<Arc<LeaseOwner>>, CheckpointError>> {
        self.inner.send(thread, request)
    }

    fn get_items(&self, items: Vec<ItemKey>) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, CheckpointError>> {
        self.inner.get_items(items)
    }

    fn scan_items<'a>(&'a self, scan: &'a ItemScan) -> BoxFuture<'a, Result<Vec<Item>, CheckpointError>> {
        self.inner.scan_items(scan)
    }

    fn write_items(&self, writes: Vec<ItemWrite>) -> Receipt {
        self.write(|| self.inner.write_items(writes))
    }

    fn list<'a>(&'a self, query: &'a ThreadQuery) -> BoxFuture<'a, Result<Vec<ListedThread>, CheckpointError>> {
        self.inner.list(query)
    }

    fn due<'a>(&'a self, query: &'a DueQuery) -> BoxFuture<'a, Result<DueThreads, CheckpointError>> {
        self.inner.due(query)
    }

    fn watch(&self) -> StoreWatch {
        self.inner.watch()
    }

    fn time(&self) -> Option<SystemTime> {
        self.inner.time()
    }

    fn is_foreign(&self) -> bool {
        self.inner.is_foreign()
    }

    fn trust(&self) -> Result<(), CheckpointError> {
        self.inner.trust()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{CheckpointId, MemoryCheckpointer};

    async fn commit_to(store: &dyn Checkpointer, lease: &Lease, number: u64) -> Result<(), CheckpointError> {
        let expected = number.checked_sub(1).map(CheckpointId);
        let head = ThreadHead { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 1 };
        store.commit(Commit::new(lease.thread().clone(), lease.epoch(), expected, head)).await
    }

    #[rstest::rstest]
    #[case::refused(FailingCheckpointer::new(Arc::new(MemoryCheckpointer::new()), 2), 0)]
    #[case::ack_lost(FailingCheckpointer::losing_ack(Arc::new(MemoryCheckpointer::new()), 2), 1)]
    #[tokio::test]
    async fn the_chosen_commit_and_all_later_ones_fail(#[case] store: FailingCheckpointer, #[case] stored: u64) {
        let lease = store.claim(&"t".into(), Claim::IfFree).await.unwrap();
        assert!(commit_to(&store, &lease, 0).await.is_ok());
        assert!(commit_to(&store, &lease, 1).await.is_err());
        assert!(commit_to(&store, &lease, 2).await.is_err());
        assert_eq!(store.head(&"t".into()).await.unwrap().unwrap().checkpoint, Some(CheckpointId(stored)));
        assert_eq!(store.commits(), 3);
    }
}
