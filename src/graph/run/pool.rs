//! The tasks of a superstep that wait at the same time: how long they are polled in place before they move to a pool, the pool, and
//! the panics of those that are dropped.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::task::{Id, JoinSet};

use super::perform::{PerformedTask, Running};

/// Time of a first poll above which a task counts as computing rather than waiting.
const QUICK: Duration = Duration::from_micros(50);
/// A slow poll after so many quick ones is put down to the machine, not to the tasks.
const FORGIVEN: u64 = 64;

/// The time that the first polls of a superstep's tasks took. While they are quick, tasks are polled in place before they
/// move to the pool.
pub(super) struct FirstPolls {
    pub are_quick: bool,
    /// The number of quick ones since the last slow one.
    quick: u64,
    last: Instant,
}

impl FirstPolls {
    pub(super) fn new() -> Self {
        Self { are_quick: true, quick: 0, last: Instant::now() }
    }

    /// Notes that a task was polled, after the one before had been settled.
    pub(super) fn note(&mut self) {
        let before = std::mem::replace(&mut self.last, Instant::now());
        if self.last - before < QUICK {
            self.quick += 1;
        } else {
            self.are_quick = self.quick >= FORGIVEN;
            self.quick = 0;
        }
    }
}

pub(super) struct Pool {
    pub set: JoinSet<(usize, PerformedTask)>,
    pub places: Vec<(Id, usize)>,
    pub panics: Panics,
}

/// Panics of tasks that were dropped before their end, by task index.
pub(super) type Panics = Arc<Mutex<Vec<(usize, String)>>>;

pub(super) struct PooledTask {
    pub at: usize,
    pub running: Running,
    pub panics: Panics,
}

impl Future for PooledTask {
    type Output = (usize, PerformedTask);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let at = self.at;
        Pin::new(&mut self.running).poll(cx).map(|performed| (at, performed))
    }
}

impl Drop for PooledTask {
    fn drop(&mut self) {
        if let Err(panic) = self.running.abandon() {
            self.panics.lock().unwrap_or_else(PoisonError::into_inner).push((self.at, panic));
        }
    }
}

impl Pool {
    /// Returns the index of the aborted task; a panic of a body is caught earlier.
    pub(super) fn place(&self, id: Id) -> Option<usize> {
        self.places.iter().find(|(known, _)| *known == id).map(|(_, at)| *at)
    }
}
