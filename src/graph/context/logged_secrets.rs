//! The values that secret channels have had in a run: nodes may put them into their errors, which are logged. Knows no state.
//!
//! Small because the texts are found by `view`.

use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::graph::view::HiddenTexts;

/// The secrets of a run, and of its subgraphs, that its log hides.
#[derive(Default)]
pub(crate) struct LoggedSecrets(Mutex<HiddenTexts>);

impl LoggedSecrets {
    pub(crate) fn add(&self, values: impl Iterator<Item = Value>) {
        // Read before the lock: it is user code that makes JSON of a state.
        let values: Vec<Value> = values.collect();
        self.lock().add_all(values.into_iter());
    }

    /// Returns an error as it is logged.
    pub(crate) fn hide(&self, error: &impl Display) -> String {
        let mut text = error.to_string();
        self.lock().in_text(&mut text);
        text
    }

    fn lock(&self) -> MutexGuard<'_, HiddenTexts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
