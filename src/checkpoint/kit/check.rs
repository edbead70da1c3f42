//! A check: its name, its run against a [`Harness`], its failure; and the setup of most checks: a store, a lease, and
//! short ways to commit and read. Knows the contract only.

use std::fmt;
use std::sync::Arc;

use crate::checkpoint::{
    BoxFuture, CheckpointError, CheckpointId, Checkpointer, Claim, Commit, Key, Lease, Order, Receipt, Record,
    ThreadHead, ThreadId,
};

/// Provides stores for the checks, and damages them where it can.
pub trait Harness: Send + Sync {
    /// Returns a new, empty store.
    ///
    /// # Errors
    /// If the store cannot be created; every check fails then.
    fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Checkpointer>, CheckpointError>>;

    /// Reopens the store that [`Harness::open`] returned last, after all handles on it were dropped; `None` if the
    /// store does not outlive its handles.
    fn reopen(&self) -> BoxFuture<'_, Option<Result<Arc<dyn Checkpointer>, CheckpointError>>> {
        Box::pin(async { None })
    }

    /// Opens the store that [`Harness::open`] returned last once more, beside its first handle, as another process does;
    /// `None` if the store cannot be opened twice.
    fn open_again(&self) -> BoxFuture<'_, Option<Result<Arc<dyn Checkpointer>, CheckpointError>>> {
        Box::pin(async { None })
    }

    /// Makes the next flush of the store opened last fail; returns false if the store does not flush.
    fn fail_next_flush(&self) -> bool {
        false
    }

    /// Damages the stored bytes of a record in the store opened last; returns false if they cannot be reached.
    fn damage(&self, _thread: &ThreadId, _key: &Key) -> bool {
        false
    }
}

/// A required property of checkpointers, with the code that checks it.
#[derive(Clone, Copy)]
pub struct ContractCheck {
    pub(super) name: &'static str,
    pub(super) run: for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Result<(), FailureReason>>,
}

impl ContractCheck {
    /// Returns the property as an identifier.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the check on new stores.
    ///
    /// # Errors
    /// A [`CheckFailure`] with the actual behaviour of the store.
    pub async fn run(&self, harness: &dyn Harness) -> Result<(), CheckFailure> {
        (self.run)(harness).await.map_err(|reason| CheckFailure { check: self.name, reason: reason.0 })
    }
}

impl fmt::Debug for ContractCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A property that does not hold.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{check}: {reason}")]
#[non_exhaustive]
pub struct CheckFailure {
    /// The property.
    pub check: &'static str,
    /// Actual behaviour of the store.
    pub reason: String,
}

/// Reason of a failed check.
#[derive(Debug)]
pub(super) struct FailureReason(pub(super) String);

impl From<CheckpointError> for FailureReason {
    fn from(error: CheckpointError) -> Self {
        Self(format!("unexpected error: {error}"))
    }
}

/// Lists checks by the names of their functions.
macro_rules! list {
    ($($name:ident),+ $(,)?) => {
        /// The checks of this file.
        pub(super) const CHECKS: &[$crate::checkpoint::kit::check::ContractCheck] = &[$($crate::checkpoint::kit::check::ContractCheck {
            name: stringify!($name),
            run: |harness| Box::pin($name(harness)),
        }),+];
    };
}

/// Fails the check unless two values are equal.
macro_rules! ensure_eq {
    ($left:expr, $right:expr) => {
        match (&$left, &$right) {
            (left, right) if left == right => {}
            (left, right) => {
                let what = stringify!($left);
                return Err($crate::checkpoint::kit::check::FailureReason(format!(
                    "{what} is {left:?} instead of {right:?}"
                )));
            }
        }
    };
}

/// Fails the check unless a value matches a pattern.
macro_rules! ensure_matches {
    ($value:expr, $pattern:pat) => {
        match $value {
            $pattern => {}
            other => {
                let (what, pattern) = (stringify!($value), stringify!($pattern));
                return Err($crate::checkpoint::kit::check::FailureReason(format!(
                    "{what} is {other:?} instead of {pattern}"
                )));
            }
        }
    };
}

pub(super) use ensure_eq;
pub(super) use ensure_matches;
pub(super) use list;

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
        let expected = number.checked_sub(1).map(CheckpointId);
        Commit::new(self.thread.clone(), self.lease.epoch(), expected, head(number)).with_records(puts)
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

pub(super) fn head(number: u64) -> ThreadHead {
    ThreadHead { checkpoint: Some(CheckpointId(number)), next: number + 1, birth: 7 }
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
