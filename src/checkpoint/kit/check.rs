//! A check: its name, its run against a [`Harness`], its failure. Knows the contract only.

use std::fmt;
use std::sync::Arc;

use crate::checkpoint::{BoxFuture, CheckpointError, Checkpointer, Key, ThreadId};

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
pub struct Check {
    pub(super) name: &'static str,
    pub(super) run: for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Result<(), FailureReason>>,
}

impl Check {
    /// Returns the property as an identifier.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the check on new stores.
    ///
    /// # Errors
    /// A [`Failure`] with the actual behaviour of the store.
    pub async fn run(&self, harness: &dyn Harness) -> Result<(), Failure> {
        (self.run)(harness).await.map_err(|reason| Failure { check: self.name, reason: reason.0 })
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A property that does not hold.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{check}: {reason}")]
pub struct Failure {
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
        pub(super) const CHECKS: &[$crate::checkpoint::kit::check::Check] = &[$($crate::checkpoint::kit::check::Check {
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
