//! The trait of verifiers in code, its type-erased form, the registry by id, and the built-in verifier `secrets`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::job::{KnownKey, VerifierJob};
use crate::findings::{Finding, FindingKind, VerifierReport, secrets_in};

/// The reason why a verifier has no report: an error of any type.
pub type VerifierError = Box<dyn std::error::Error + Send + Sync>;

/// A judge of the files of an attempt.
///
/// It only reads and reports; changes that it makes to files are reverted. An error or panic becomes a finding of the
/// kind `VERIFIER_FAIL`, and does not end the run. A verifier may run again after a crash.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a verifier",
    note = "implement `Verifier`: `async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError>`"
)]
pub trait Verifier: Send + Sync + 'static {
    /// Returns the report on an attempt. A finding without a fingerprint gets one, made of its type, file and message.
    ///
    /// # Errors
    /// Any error that prevents a report.
    fn verify(&self, job: &VerifierJob) -> impl Future<Output = Result<VerifierReport, VerifierError>> + Send;

    /// Returns the maximum length of the diff it gets, in bytes; by default `set`, the value of `max_diff_bytes`.
    fn diff_limit(&self, set: usize) -> usize {
        set
    }
}

/// A type-erased [`Verifier`]. Clones share it.
#[derive(Clone)]
pub struct DynVerifier(Arc<dyn ErasedVerifier>);

impl fmt::Debug for DynVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynVerifier").finish_non_exhaustive()
    }
}

impl DynVerifier {
    /// Returns a type-erased verifier.
    pub fn new(verifier: impl Verifier) -> Self {
        Self(Arc::new(verifier))
    }

    /// Returns the report on an attempt.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    pub async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        self.0.verify_boxed(job).await
    }

    /// Returns the maximum length of the diff it gets, like [`Verifier::diff_limit`].
    pub fn diff_limit(&self, set: usize) -> usize {
        self.0.diff_limit_erased(set)
    }
}

/// The dyn-compatible form of a verifier.
trait ErasedVerifier: Send + Sync {
    fn verify_boxed<'a>(&'a self, job: &'a VerifierJob) -> BoxFuture<'a, Result<VerifierReport, VerifierError>>;
    fn diff_limit_erased(&self, set: usize) -> usize;
}

impl<V: Verifier> ErasedVerifier for V {
    fn verify_boxed<'a>(&'a self, job: &'a VerifierJob) -> BoxFuture<'a, Result<VerifierReport, VerifierError>> {
        Box::pin(self.verify(job))
    }

    fn diff_limit_erased(&self, set: usize) -> usize {
        self.diff_limit(set)
    }
}

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
        Self::new().with(ID, Secrets)
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

/// The id in the configuration.
const ID: &str = "secrets";

/// The minimum diff limit of this verifier in bytes, regardless of the settings.
const DIFF: usize = 64 * 1024 * 1024;

/// Finds keys and tokens in the lines that an attempt adds, including the keys of this process.
struct Secrets;

#[diagnostic::do_not_recommend]
impl Verifier for Secrets {
    fn diff_limit(&self, set: usize) -> usize {
        set.max(DIFF)
    }

    async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        let known = job.changes.keys.iter().map(key_finding);
        let mut report = VerifierReport::of(known.chain(secrets_in(&job.changes.diff, ID)));
        if job.changes.is_cut {
            let read = job.changes.diff.len();
            report.push(Finding::warning(FindingKind::Secret, format!("only {read} bytes of the diff were searched")));
        }
        Ok(report)
    }
}

fn key_finding(key: &KnownKey) -> Finding {
    let KnownKey { file, line, variable } = key;
    Finding::error(FindingKind::Secret, format!("the file holds the value of `{variable}`")).at(file, *line)
}
