//! What a run keeps until it ends, beside its state and never stored: locks, connections. Knows no use of them.

use std::sync::Arc;

use super::ctx::Ctx;
use crate::checkpoint::{Checkpointer, ThreadId};

impl<C> Ctx<C> {
    /// Returns the store of the run and its thread; none in a replay, and for a run without a store.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep objects"))]
    pub(crate) fn store(&self) -> Option<(&Arc<dyn Checkpointer>, &ThreadId)> {
        let shared = &self.0.shared;
        let recorder = shared.recorder.as_ref().filter(|_| shared.replay.is_none())?;
        Some((recorder.store(), shared.thread.as_ref()?))
    }

    /// Has the run keep something under a name until it ends, in whatever way; made if nothing is kept there yet. Subgraphs
    /// share it. It is not kept for the next run of the thread, and a replay keeps nothing unless its bodies ask.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub(crate) async fn keep<T: Send + 'static, E>(
        &self,
        name: &str,
        make: impl Future<Output = Result<T, E>>,
    ) -> Result<(), E> {
        let mut kept = self.0.shared.environment.keeps.0.lock().await;
        if !kept.contains_key(name) {
            let thing = make.await?;
            kept.insert(name.to_owned(), Box::new(thing));
        }
        Ok(())
    }

    /// Returns what the run keeps under a name until it ends; made if nothing is kept there yet. Subgraphs share it. None if
    /// something of another type is kept there.
    #[cfg_attr(not(feature = "agents"), allow(dead_code, reason = "only workflows keep values"))]
    pub(crate) async fn kept<T: Clone + Send + 'static>(&self, name: &str, make: impl FnOnce() -> T) -> Option<T> {
        let mut kept = self.0.shared.environment.keeps.0.lock().await;
        let thing = kept.entry(name.to_owned()).or_insert_with(|| Box::new(make()));
        thing.downcast_ref::<T>().cloned()
    }
}
