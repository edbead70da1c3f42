//! Work of a tool on a thread that may block.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::refused::Refused;

/// Something that is not let go before the last file is written, though nobody waits for it any more.
pub(super) type Held = Arc<dyn Any + Send + Sync>;

/// Runs on a thread that may block. The work is told to stop when nobody waits for it any more.
pub(super) async fn blocking<F>(held: Option<Held>, work: F) -> Result<String, Refused>
where
    F: FnOnce(&AtomicBool) -> Result<String, Refused> + Send + 'static,
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
        let _held = held;
        work(&flag)
    });
    let done = working.await;
    done.unwrap_or_else(|_| Err(Refused::new("the tool failed by a mistake of its own")))
}
