//! Records that cannot be read, for the log: lists leave them out, and are read again and again. Knows no kind of record.
//!
//! Small because it only remembers what it has logged.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use superstep::checkpoint::{CheckpointError, ItemKey};

/// The largest number of records that are remembered.
const MOST: usize = 10_000;

/// The records that were logged.
#[derive(Clone, Debug, Default)]
pub(super) struct Damage(Arc<Mutex<HashSet<ItemKey>>>);

impl Damage {
    /// Logs why a record cannot be read, once in this process.
    pub(super) fn log(&self, key: &ItemKey, error: &CheckpointError) {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MOST && logged.insert(key.clone()) {
            tracing::error!(key = &*key.key, %error, "a record of the server is left out: it cannot be read");
        }
    }
}
