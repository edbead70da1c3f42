//! Comparisons of threads with their graphs, which run for a while: a few at a time, each for a time. Knows no thread.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use superstep::graph::RunError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::{ApiError, ApiResult};
use crate::panics::panic_error;

/// The number of comparisons at a time.
const AT_A_TIME: usize = 2;
/// The time that one may take, unless it is set.
pub(crate) const LONGEST: Duration = Duration::from_secs(15);

/// The limits of comparisons.
pub(crate) struct Replays {
    permits: Arc<Semaphore>,
    longest: Duration,
}

impl Replays {
    pub(crate) fn new(longest: Duration) -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_A_TIME)), longest }
    }

    /// Returns the permission for one of the few, such as a copy of a thread in memory, for as long as it is held.
    ///
    /// # Errors
    /// 429 if as many are running as may.
    pub(crate) fn permit(&self) -> ApiResult<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| too_many())
    }

    /// Runs a comparison, in a task of its own. It ends with the request, and with its time: `command` is how it is done without one.
    ///
    /// # Errors
    /// 429 if as many are running as may; 504 if it takes too long; those of the comparison.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        command: &str,
        comparison: impl Future<Output = Result<T, RunError>> + Send + 'static,
    ) -> ApiResult<T> {
        let permit = self.permit()?;
        // Dropping the set, with the request, stops the task; its permit is given back when it has stopped.
        let mut task = JoinSet::new();
        task.spawn(async move {
            let _permit = permit;
            comparison.await
        });
        match timeout(self.longest, task.join_next()).await {
            Ok(Some(Ok(found))) => Ok(found?),
            Ok(Some(Err(_)) | None) => Err(panic_error()),
            Err(_) => Err(self.too_long(command)),
        }
    }

    fn too_long(&self, command: &str) -> ApiError {
        let seconds = self.longest.as_secs_f64();
        let detail = format!(
            "this takes longer than the {seconds} s that a server allows: run `{command}`, or compare a part of the thread with `from`"
        );
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, detail)
    }
}

fn too_many() -> ApiError {
    let detail = format!(
        "{AT_A_TIME} comparisons or copies are running, as many as this server runs at a time: try again later"
    );
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, detail)
}
