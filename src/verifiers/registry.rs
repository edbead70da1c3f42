//! VerifierRegistry by their ids.

use std::collections::BTreeMap;

use super::secrets::{self, Secrets};
use super::verifier::{DynVerifier, Verifier};

/// The verifiers that entries with `mode: code` name by their ids.
#[derive(Clone, Debug, Default)]
pub struct VerifierRegistry(BTreeMap<String, DynVerifier>);

impl VerifierRegistry {
    /// Returns a registry without verifiers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the verifiers that come with the library: `secrets`, which finds keys and tokens in the lines that were added.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new().with(secrets::ID, Secrets)
    }

    /// Adds a verifier, in the place of one that had its id.
    #[must_use]
    pub fn with(mut self, id: impl Into<String>, verifier: impl Verifier) -> Self {
        self.0.insert(id.into(), DynVerifier::new(verifier));
        self
    }

    /// Returns the ids, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns a verifier.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<DynVerifier> {
        self.0.get(id).cloned()
    }
}
