//! The trait of verifiers, and its type-erased form.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::job::VerifierJob;
use crate::findings::VerifierReport;

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
