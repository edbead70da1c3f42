//! The runs that somebody has joined a moment after they were created. Must not know their events.
//!
//! Small because it only remembers.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use superstep_base::time::now;
use uuid::Uuid;

use crate::records::run::RunRecord;

/// The time in milliseconds within which a client joins a run that it has just created.
const SOON: u64 = 1000;
/// The number of runs that are remembered.
const MOST: usize = 1000;

/// Runs that were joined, newest last.
#[derive(Default)]
pub(crate) struct JoinedRuns(Mutex<VecDeque<Uuid>>);

impl JoinedRuns {
    /// Notes that a run is joined; returns whether it was created just now, and nobody has joined it before: a client that creates a
    /// run and then joins it misses nothing, however fast the run is.
    pub(crate) fn join(&self, run: &RunRecord) -> bool {
        if now().saturating_sub(run.created_at) > SOON {
            return false;
        }
        let mut joined = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if joined.contains(&run.run) {
            return false;
        }
        joined.push_back(run.run);
        let excess = joined.len().saturating_sub(MOST);
        joined.drain(..excess);
        true
    }
}
