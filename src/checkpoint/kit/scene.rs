//! Setup of most checks: a store, a lease, and short ways to commit and read. Knows the contract only.

use std::sync::Arc;

use super::check::{FailureReason, Harness};
use crate::checkpoint::{
    CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Head, Key, Lease, Order, Receipt, Record, ThreadId,
};

/// One thread of a store, and the lease on it.
pub(super) struct Scene {
    pub(super) store: Arc<dyn Checkpointer>,
    pub(super) lease: Lease,
    pub(super) thread: ThreadId,
}

impl Scene {
    pub(super) async fn new(harness: &dyn Harness) -> Result<Self, FailureReason> {
        Self::on(harness.open().await?, "t").await
    }

    /// Claims a thread of a store.
    pub(super) async fn on(store: Arc<dyn Checkpointer>, thread: &str) -> Result<Self, FailureReason> {
        let thread = ThreadId::from(thread);
        let lease = store.claim(&thread, Claim::IfFree).await?;
        Ok(Self { store, lease, thread })
    }

    /// Returns a commit of `puts` as checkpoint `number`, which follows checkpoint `number - 1`.
    pub(super) fn next(&self, number: u64, puts: Vec<Record>) -> Commit {
        Commit {
            thread: self.thread.clone(),
            epoch: self.lease.epoch(),
            expected: number.checked_sub(1).map(CheckpointId),
            head: head(number),
            puts,
            deletes: Vec::new(),
        }
    }

    /// Commits checkpoint `number` with `puts`.
    pub(super) fn commit(&self, number: u64, puts: Vec<Record>) -> Receipt {
        self.store.commit(self.next(number, puts))
    }

    pub(super) async fn get(&self, key: Key) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(self.store.get(&self.thread, vec![key]).await?.pop().flatten())
    }

    pub(super) async fn newest(&self) -> Result<Option<u64>, CheckpointError> {
        Ok(self.store.head(&self.thread).await?.and_then(|head| head.checkpoint).map(|id| id.0))
    }

    pub(super) async fn checkpoints(&self, order: Order, limit: usize) -> Result<Vec<u64>, CheckpointError> {
        let range = checkpoint(0)..=checkpoint(u64::MAX);
        let found = self.store.scan(&self.thread, range, order, limit).await?;
        Ok(found.into_iter().filter_map(|(key, _)| number(&key)).collect())
    }
}

pub(super) fn head(number: u64) -> Head {
    Head { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 7 }
}

pub(super) fn checkpoint(number: u64) -> Key {
    Key::Checkpoint(CheckpointId(number))
}

pub(super) fn record(number: u64, text: &str) -> Record {
    (checkpoint(number), text.as_bytes().to_vec())
}

/// Returns a value of `length` bytes in which adjacent bytes differ.
pub(super) fn value(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

fn number(key: &Key) -> Option<u64> {
    match key {
        Key::Checkpoint(id) => Some(id.0),
        _ => None,
    }
}
