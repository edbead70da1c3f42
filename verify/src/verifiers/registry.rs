//! The registry of verifiers by id.

use std::collections::BTreeMap;

use super::secrets::{self, Secrets};
use super::verifier::{DynVerifier, Verifier};

/// The verifiers that entries with `mode: code` refer to by id.
#[derive(Clone, Debug, Default)]
pub struct VerifierRegistry(BTreeMap<String, DynVerifier>);

impl VerifierRegistry {
    /// Returns a registry without verifiers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the verifiers of this library: `secrets`, which finds keys and tokens in added lines.
    #[must_use]
    pub fn built_in() -> Self {
        Self::new().with(secrets::ID, Secrets)
    }

    /// Adds a verifier, replacing one with the same id.
    #[must_use]
    pub fn with(mut self, id: impl Into<String>, verifier: impl Verifier) -> Self {
        self.0.insert(id.into(), DynVerifier::new(verifier));
        self
    }

    /// Returns the ids, in unspecified order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns a verifier.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<DynVerifier> {
        self.0.get(id).cloned()
    }
}
