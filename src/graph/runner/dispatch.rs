//! [`Dispatch`]: the way from whoever stores something for a thread to the worker that runs it. Knows names and times; what is
//! true of a thread is in its store.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

use crate::checkpoint::{BoxFuture, CheckpointError, Checkpointer, OwnerRequest, ThreadId};

/// An engine that says where and when threads run. It holds no truth: a lost or repeated call loses and repeats nothing,
/// because a worker that is called with a thread reads from the store what to do.
///
/// Whoever stores an input, an answer, a signal or a request calls [`wake`](Self::wake) afterwards. The engine then calls one of
/// its workers with the thread, which calls [`EngineWorker::turn`](super::EngineWorker::turn). [`StoreDispatch`] is the engine of
/// [runners](crate::graph::runner()), which find by themselves what is due; `superstep-restate` has one for Restate.
pub trait Dispatch: Debug + Send + Sync + 'static {
    /// Has a worker look at a thread, now or at a time. May be called more often than needed.
    ///
    /// # Errors
    /// If the engine cannot be reached or refuses. What was stored for the thread is not affected.
    fn wake<'a>(&'a self, thread: &'a ThreadId, at: Option<SystemTime>) -> BoxFuture<'a, Result<(), DispatchError>>;

    /// Asks the worker that runs a thread to stop at once, in the middle of a node. Does nothing if nobody runs it.
    ///
    /// # Errors
    /// As [`wake`](Self::wake).
    fn cancel<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<(), DispatchError>>;
}

/// The reason why an engine was not told of a thread.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// It cannot be reached.
    #[error("{engine} cannot be reached: {reason}")]
    Unreachable {
        /// The engine, and its address.
        engine: String,
        /// The cause.
        reason: String,
    },
    /// It refuses the call.
    #[error("{engine} refuses the call: {reason}")]
    Refused {
        /// The engine, and its address.
        engine: String,
        /// Its words.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// The dispatch of a store whose runners ask it for work: whatever is stored wakes them.
#[derive(Clone, Debug)]
pub struct StoreDispatch(Arc<dyn Checkpointer>);

impl StoreDispatch {
    /// Returns the dispatch of a store.
    pub fn new(store: Arc<dyn Checkpointer>) -> Self {
        Self(store)
    }
}

impl Dispatch for StoreDispatch {
    fn wake<'a>(&'a self, _: &'a ThreadId, _: Option<SystemTime>) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn cancel<'a>(&'a self, thread: &'a ThreadId) -> BoxFuture<'a, Result<(), DispatchError>> {
        Box::pin(async move {
            self.0.send(thread, OwnerRequest::Cancel).await?;
            Ok(())
        })
    }
}
