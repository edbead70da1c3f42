//! What every checkpointer must do, as checks that anyone can run over a store of their own.
//!
//! ```
//! use std::sync::Arc;
//! use superstep::checkpoint::{BoxFuture, CheckpointError, Checkpointer, MemoryCheckpointer, kit};
//!
//! struct Memory;
//! impl kit::Harness for Memory {
//!     fn open(&self) -> BoxFuture<'_, Result<Arc<dyn Checkpointer>, CheckpointError>> {
//!         Box::pin(async { Ok(Arc::new(MemoryCheckpointer::new()) as _) })
//!     }
//! }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! assert!(kit::check_all(&Memory).await.is_empty());
//! # });
//! ```
//!
//! Knows the contract only. Must not know any store.

mod commits;
mod durability;
mod leases;
mod mailbox;
mod reads;
mod scene;
mod threads;

use std::fmt;
use std::sync::Arc;

use super::checkpointer::{BoxFuture, Checkpointer};
use super::error::CheckpointError;
use super::id::ThreadId;
use super::key::Key;

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
    name: &'static str,
    run: for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Result<(), Broken>>,
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
struct Broken(String);

impl From<CheckpointError> for Broken {
    fn from(error: CheckpointError) -> Self {
        Self(format!("unexpected error: {error}"))
    }
}

/// Returns all checks.
pub fn checks() -> Vec<Check> {
    [commits::CHECKS, leases::CHECKS, mailbox::CHECKS, reads::CHECKS, threads::CHECKS, durability::CHECKS].concat()
}

/// Returns the check of this name.
pub fn check(name: &str) -> Option<Check> {
    checks().into_iter().find(|check| check.name == name)
}

/// Runs all checks and returns the failures.
pub async fn check_all(harness: &dyn Harness) -> Vec<Failure> {
    let mut failures = Vec::new();
    for check in checks() {
        failures.extend(check.run(harness).await.err());
    }
    failures
}

/// Lists checks by the names of their functions.
macro_rules! list {
    ($($name:ident),+ $(,)?) => {
        /// The checks of this file.
        pub(super) const CHECKS: &[super::Check] = &[$(super::Check {
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
                return Err(super::Broken(format!("{what} is {left:?} instead of {right:?}")));
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
                return Err(super::Broken(format!("{what} is {other:?} instead of {pattern}")));
            }
        }
    };
}

use {ensure_eq, ensure_matches, list};
