//! One check: its name, its run over a [`Harness`], its failure. Knows the contract only.

use std::fmt;
use std::sync::Arc;

use crate::checkpoint::{BoxFuture, CheckpointError, Checkpointer, Key, ThreadId};

/// Gives the checks stores to work on, and breaks them where it can.
pub trait Harness: Send + Sync {
    /// Returns a new, empty store.
    ///
    /// # Errors
    /// If it cannot be made; every check fails then.
    fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Checkpointer>, CheckpointError>>;

    /// Opens the store that [`Harness::open`] gave last once more, after all handles on it were dropped; none if the store
    /// does not outlive its handles.
    fn reopen(&self) -> BoxFuture<'_, Option<Result<Arc<dyn Checkpointer>, CheckpointError>>> {
        Box::pin(async { None })
    }

    /// Makes the next flush of the store opened last fail; returns false if the store has none.
    fn fail_next_flush(&self) -> bool {
        false
    }

    /// Damages the stored bytes of a record in the store opened last; returns false if they are out of reach.
    fn damage(&self, _thread: &ThreadId, _key: &Key) -> bool {
        false
    }
}

/// One claim about checkpointers.
#[derive(Clone, Copy)]
pub struct Check {
    pub(super) name: &'static str,
    pub(super) run: for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Result<(), Broken>>,
}

impl Check {
    /// Returns the claim, as a name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the check on new stores.
    ///
    /// # Errors
    /// What the store did instead.
    pub async fn run(&self, harness: &dyn Harness) -> Result<(), Failure> {
        (self.run)(harness).await.map_err(|broken| Failure { check: self.name, reason: broken.0 })
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A claim that does not hold.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{check}: {reason}")]
pub struct Failure {
    /// The claim.
    pub check: &'static str,
    /// What the store did instead.
    pub reason: String,
}

/// Why a check failed.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

impl From<CheckpointError> for Broken {
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
                return Err($crate::checkpoint::kit::check::Broken(format!("{what} is {left:?} instead of {right:?}")));
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
                return Err($crate::checkpoint::kit::check::Broken(format!(
                    "{what} is {other:?} instead of {pattern}"
                )));
            }
        }
    };
}

pub(super) use {ensure_eq, ensure_matches, list};
