//! The lists of `append` channels that a reader has already read.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::checkpoint::{LogRange, RowId};
use crate::graph::state::State;

/// Decoded entries of one log, oldest first.
pub(crate) type Entries<S> = Vec<(RowId, <S as State>::Write)>;

/// The [`Entries`] of a state, by log and the first of them.
type Known = HashMap<(String, RowId), Arc<dyn Any + Send + Sync>>;

/// Decoded entries, shared by the clones of a reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownLogs(Arc<Mutex<Known>>);

impl KnownLogs {
    /// The entries of a log from this row on, if they reach the last one that is wanted.
    pub(crate) fn get<S: State>(&self, log: &str, range: &LogRange) -> Option<Arc<Entries<S>>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = Arc::clone(known.get(&(log.to_owned(), range.first))?);
        let entries = entries.downcast::<Entries<S>>().ok()?;
        entries.last().is_some_and(|(last, _)| *last >= range.last).then_some(entries)
    }

    pub(crate) fn keep<S: State>(&self, log: &str, range: &LogRange, entries: &Arc<Entries<S>>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((log.to_owned(), range.first), Arc::clone(entries) as _);
    }
}
