//! Runs tool work on a blocking thread.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::refusal::Refusal;

/// Value kept alive until the last file is written, even if the caller stops waiting.
pub(super) type KeepAlive = Arc<dyn Any + Send + Sync>;

/// Runs work on a blocking thread. Dropping the future sets the flag that tells the work to stop.
pub(super) async fn blocking<F>(keep_alive: Option<KeepAlive>, work: F) -> Result<String, Refusal>
where
    F: FnOnce(&AtomicBool) -> Result<String, Refusal> + Send + 'static,
{
    struct StopOnDrop(Arc<AtomicBool>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let flag = Arc::clone(&stop.0);
    let working = tokio::task::spawn_blocking(move || {
        let _keep_alive = keep_alive;
        work(&flag)
    });
    let done = working.await;
    done.unwrap_or_else(|_| Err(Refusal::new("the tool failed by a mistake of its own")))
}
