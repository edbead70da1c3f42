//! Panic handling for a whole call: a panic of user code that nothing else caught becomes the call's error. Knows no
//! run.
//!
//! Small because every call of a thread, a replay or a runner goes through it.

use std::future::Future;

use futures::FutureExt;
use superstep_base::panics::catch_panic_in;

use crate::graph::error::RunError;

/// Runs a call and turns a panic into its error. `doing` names the call: "reading a thread".
pub(crate) fn catch_panics<T>(
    doing: &'static str,
    call: impl Future<Output = Result<T, RunError>>,
) -> impl Future<Output = Result<T, RunError>> {
    catch_panic_in(call).map(move |done| done.unwrap_or_else(|message| Err(RunError::Panic { doing, message })))
}
