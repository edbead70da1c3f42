//! Error for a thread that does not exist, with similar names.

use superstep_base::near::near;

use super::{CheckpointError, Checkpointer, ThreadId};

/// Returns [`CheckpointError::UnknownThread`] with the names of similar threads.
pub(crate) async fn unknown_thread(store: &dyn Checkpointer, thread: &ThreadId) -> CheckpointError {
    let near = near_threads(store, thread).await;
    CheckpointError::UnknownThread { thread: thread.clone(), near }
}

/// Returns the threads of a store with a name similar to this one, nearest first; none if they cannot be listed.
pub(crate) async fn near_threads(store: &dyn Checkpointer, thread: &ThreadId) -> Vec<ThreadId> {
    let all = store.threads(None, NAMES).await.unwrap_or_default();
    let others = all.iter().filter(|other| *other != thread).map(ThreadId::as_str);
    near(thread.as_str(), others).into_iter().map(ThreadId::from).collect()
}

/// Maximum number of names that are compared.
pub(super) const NAMES: usize = 10_000;
