//! A hint that something in a store has changed, for hosts that wait for work. Knows no store.
//!
//! Small because a hint says nothing more.

use tokio::sync::watch::Receiver;

/// A hint that a store has changed: a thread may be due that was not before.
#[derive(Clone, Debug, Default)]
pub struct StoreWatch(Option<Receiver<()>>);

impl StoreWatch {
    /// Returns a watch of a store that sends a hint after each change.
    pub fn new(changes: Receiver<()>) -> Self {
        Self(Some(changes))
    }

    /// Waits until something may have changed since the last call. Never resolves for a store that sends no hints: then a
    /// host looks from time to time.
    pub async fn changed(&mut self) {
        if let Some(changes) = &mut self.0 {
            if changes.changed().await.is_ok() {
                return;
            }
            self.0 = None; // the store is closed
        }
        std::future::pending().await
    }
}
