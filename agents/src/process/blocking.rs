//! Work on tokio's threads for blocking work. Must not know what the work does.
//!
//! Small because it is one function.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs work on a thread for blocking work. It continues there if the future is dropped after its first poll.
///
/// tokio sees a box, so its code for tasks is compiled once, not for each work.
///
/// # Errors
/// If the work panics, or the runtime shuts down before it begins.
pub(crate) async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let done = Arc::new(Mutex::new(None));
    let result = Arc::clone(&done);
    run(Box::new(move || *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(work()))).await?;
    let done = done.lock().unwrap_or_else(PoisonError::into_inner).take();
    done.ok_or_else(|| io::Error::other("the work has no result"))
}

async fn run(work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}
