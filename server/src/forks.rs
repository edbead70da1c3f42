//! Hooks of a program for the forks of its threads: each may need something outside of the store, such as a work tree. Must not know the
//! server.
//!
//! Small because each program does it in its own way.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use superstep::checkpoint::{BoxFuture, CheckpointId};
use superstep::graph::AnyThread;

/// A fork that is about to be made.
#[derive(Clone)]
#[non_exhaustive]
pub struct ForkOrigin {
    /// The thread that is forked.
    pub thread: AnyThread,
    /// The checkpoint at which it is.
    pub checkpoint: CheckpointId,
    /// The name of the new thread; none if the fork is in the same one.
    pub name: Option<String>,
}

impl fmt::Debug for ForkOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkOrigin")
            .field("checkpoint", &self.checkpoint)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ForkOrigin {
    pub(crate) fn new(thread: AnyThread, checkpoint: CheckpointId, name: Option<String>) -> Self {
        Self { thread, checkpoint, name }
    }
}

/// The part of a program that prepares the forks of a graph's threads.
pub trait ForkHook: Send + Sync + 'static {
    /// Does what a fork needs outside of the store.
    ///
    /// # Errors
    /// The reason why there can be no fork, which the client sees.
    fn prepare(&self, origin: ForkOrigin) -> BoxFuture<'static, Result<Box<dyn PreparedFork>, String>>;
}

/// A fork that is prepared and not stored yet.
pub trait PreparedFork: Send + Sync {
    /// Returns the values that the fork writes, as an object of channels; a client's own take their place.
    fn values(&self) -> Value;

    /// Finishes what depends on the stored fork.
    fn stored(self: Box<Self>) -> BoxFuture<'static, ()>;

    /// Undoes everything, as the fork could not be stored.
    fn undo(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// The hooks by the names of their graphs.
pub(crate) type ForkHooks = HashMap<String, Arc<dyn ForkHook>>;
