//! The values that secret channels have had in a run: nodes may put them into their errors, which are logged and stored, and into
//! their events, which programs show. Knows no state.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::graph::view::{HiddenTexts, View};

/// The secrets of a run, and of its subgraphs, that its log and its records hide.
#[derive(Default)]
pub(crate) struct LoggedSecrets(Mutex<HiddenTexts>);

impl LoggedSecrets {
    pub(crate) fn add(&self, values: impl Iterator<Item = Value>) {
        // Read before the lock: it is user code that makes JSON of a state.
        let values: Vec<Value> = values.collect();
        self.lock().add_all(values.into_iter());
    }

    /// Returns an error as it is logged and stored.
    pub(crate) fn hide(&self, error: &impl Display) -> String {
        let mut text = error.to_string();
        self.lock().in_text(&mut text);
        text
    }

    fn lock(&self) -> MutexGuard<'_, HiddenTexts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values of secret channels, to hide copies of them. A clone shares them. A text of less than six bytes is hidden only if it is
/// the whole text.
#[derive(Clone, Default)]
pub struct SecretValues(pub(crate) Arc<LoggedSecrets>);

impl SecretValues {
    /// Adds values: the texts and numbers in them.
    pub fn add(&self, values: impl IntoIterator<Item = Value>) {
        self.0.add(values.into_iter());
    }

    /// Adds those of others.
    pub fn add_all(&self, others: &Self) {
        if !Arc::ptr_eq(&self.0, &others.0) {
            let texts = others.0.lock().clone();
            self.0.lock().add_texts(texts);
        }
    }

    /// Adds the values that the secret channels of a state have, or those that are written to them.
    pub fn add_state(&self, state: &View) {
        self.add(state.secrets());
    }

    /// Replaces the secrets in a value, but not in the names of its fields, by `[secret]`.
    pub fn hide(&self, value: &mut Value) {
        self.0.lock().hide(value);
    }

    /// Replaces the secrets in a text by `[secret]`.
    pub fn hide_in_text(&self, text: &mut String) {
        self.0.lock().in_text(text);
    }
}

impl std::fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretValues").finish_non_exhaustive()
    }
}
