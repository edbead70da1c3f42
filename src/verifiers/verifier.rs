//! The trait of verifiers, and its form without a type.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::job::VerifierJob;
use crate::findings::VerifierReport;

/// Why a verifier has no report: an error of any type.
pub type VerifierError = Box<dyn std::error::Error + Send + Sync>;

/// A judge of the files of an attempt.
///
/// It reads and reports; it changes nothing and decides nothing. A file that it changes is put back. An error and a panic are
/// findings of the kind `VERIFIER_FAIL`, and not the end of the run. A verifier may run again after a crash.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a verifier",
    note = "implement `Verifier`: `async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError>`"
)]
pub trait Verifier: Send + Sync + 'static {
    /// Returns the report on an attempt. A finding without a fingerprint gets one, made of its type, file and message.
    ///
    /// # Errors
    /// Any error by which there is no report.
    fn verify(&self, job: &VerifierJob) -> impl Future<Output = Result<VerifierReport, VerifierError>> + Send;

    /// Returns how much of the diff it is given, in bytes; unless implemented, as much as is `set` by `max_diff_bytes`.
    fn diff_limit(&self, set: usize) -> usize {
        set
    }
}

/// A [`Verifier`] of any type. Copies are the same one.
#[derive(Clone)]
pub struct DynVerifier(Arc<dyn Erased>);

impl fmt::Debug for DynVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynVerifier").finish_non_exhaustive()
    }
}

impl DynVerifier {
    /// Returns a verifier whose type is not known any more.
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

    /// Returns how much of the diff it is given, as [`Verifier::diff_limit`].
    pub fn diff_limit(&self, set: usize) -> usize {
        self.0.diff_limit_erased(set)
    }
}

/// A verifier whose futures have one type.
trait Erased: Send + Sync {
    fn verify_boxed<'a>(&'a self, job: &'a VerifierJob) -> BoxFuture<'a, Result<VerifierReport, VerifierError>>;
    fn diff_limit_erased(&self, set: usize) -> usize;
}

impl<V: Verifier> Erased for V {
    fn verify_boxed<'a>(&'a self, job: &'a VerifierJob) -> BoxFuture<'a, Result<VerifierReport, VerifierError>> {
        Box::pin(self.verify(job))
    }

    fn diff_limit_erased(&self, set: usize) -> usize {
        self.diff_limit(set)
    }
}
