//! Runs file work of sessions on a blocking thread.

use crate::drivers::{DriverError, ErrorClass};

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DriverError> + Send + 'static,
) -> Result<T, DriverError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(DriverError::new(ErrorClass::Fatal, format!("a session's file: {error}"))))
}
