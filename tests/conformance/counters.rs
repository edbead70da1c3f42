//! Counters over a whole case, across restarts: starts of bodies, and reached `fail` ops.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Starts in the current action.
    runs: BTreeMap<String, u64>,
    /// Starts in the whole case.
    all_runs: BTreeMap<String, u64>,
    fails: BTreeMap<String, u64>,
}

impl Counters {
    /// Counts the start of a body.
    pub(crate) fn started(&self, place: &str) {
        let mut counts = self.lock();
        bump(&mut counts.runs, place);
        bump(&mut counts.all_runs, place);
    }

    /// Returns the number of starts of a body in this case.
    pub(crate) fn starts(&self, place: &str) -> u64 {
        self.lock().all_runs.get(place).copied().unwrap_or_default()
    }

    /// Counts a reached `fail` op; returns the counter, this time included.
    pub(crate) fn failed(&self, counter: &str) -> u64 {
        bump(&mut self.lock().fails, counter)
    }

    /// Returns the bodies started since the last call, as an outcome's `runs`; `None` if there were none.
    pub(crate) fn take_runs(&self) -> Option<Value> {
        let runs = std::mem::take(&mut self.lock().runs);
        (!runs.is_empty()).then(|| runs.into_iter().map(|(place, times)| (place, Value::from(times))).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str) -> u64 {
    let count = counts.entry(name.to_owned()).or_default();
    *count += 1;
    *count
}
