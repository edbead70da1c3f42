//! Work on the files of sessions, on a thread that may block.

use crate::drivers::{DriverError, ErrorClass};

/// Runs what may block where it may.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DriverError> + Send + 'static,
) -> Result<T, DriverError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(DriverError::new(ErrorClass::Fatal, format!("a session's file: {error}"))))
}
