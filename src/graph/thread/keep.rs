//! Management of a whole thread: tags for its checkpoints, retention, and trust in an imported thread. Knows no
//! records: those are left to `checkpoint`.

use std::sync::Arc;

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::{self, CheckpointId, Checkpointer, Retention, Swept, ThreadId};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::state::{Boxed, State};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Tags the checkpoint that this handle is [at](Self::at), or the newest; [`gc`](Self::gc) keeps it. A tag of
    /// another checkpoint moves; that checkpoint is returned.
    ///
    /// # Errors
    /// [`RunError::EmptyInput`] if the thread has never run; as [`checkpoint::tag`].
    pub async fn tag(&self, name: impl AsRef<str>) -> Result<Option<CheckpointId>, RunError> {
        self.core.tag(name.as_ref()).await
    }

    /// Removes a tag; returns the checkpoint that had it.
    ///
    /// # Errors
    /// As [`checkpoint::untag`].
    pub async fn untag(&self, name: impl AsRef<str>) -> Result<Option<CheckpointId>, RunError> {
        self.core.untag(name.as_ref()).await
    }

    /// Returns the tags of the thread's checkpoints, in order.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn tags(&self) -> Result<Vec<(String, CheckpointId)>, RunError> {
        self.core.tags().await
    }

    /// Removes everything of the thread's past that the policy does not keep.
    ///
    /// ```
    /// # use superstep::checkpoint::Retention;
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), RunError> {
    /// thread.clone().at(CheckpointId(3)).tag("before the edit").await?;
    /// println!("{}", thread.gc(&Retention::new().keep_last(20)).await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`checkpoint::gc`].
    pub async fn gc(&self, policy: &Retention) -> Result<Swept, RunError> {
        self.core.gc(policy).await
    }

    /// Allows an imported thread to be run, answered, updated and forked. Returns false if it was trusted already.
    ///
    /// # Errors
    /// As [`checkpoint::trust`].
    pub async fn trust(&self) -> Result<bool, RunError> {
        self.core.trust().await
    }
}

impl ThreadCore {
    pub(crate) fn tag<'a>(&'a self, name: &'a str) -> Boxed<'a, Result<Option<CheckpointId>, RunError>> {
        Box::pin(async move {
            let (reader, head) = self.reader("a tag").await?;
            self.check_at(&reader).await?;
            let newest = self.newest(&reader, head).await?.map(|(id, _)| id);
            let id = self.at.or(newest).ok_or_else(|| self.unknown())?;
            Ok(checkpoint::tag(&*reader.store, &reader.thread, id, name).await?)
        })
    }

    pub(crate) fn untag<'a>(&'a self, name: &'a str) -> Boxed<'a, Result<Option<CheckpointId>, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.stored("a tag")?;
            Ok(checkpoint::untag(&**store, thread, name).await?)
        })
    }

    pub(crate) fn tags(&self) -> Boxed<'_, Result<Vec<(String, CheckpointId)>, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.stored("tags")?;
            Ok(checkpoint::tags(&**store, thread).await?)
        })
    }

    pub(crate) fn gc<'a>(&'a self, policy: &'a Retention) -> Boxed<'a, Result<Swept, RunError>> {
        Box::pin(async move {
            self.check_whole("a removal")?;
            let (store, thread) = self.stored("a removal")?;
            Ok(checkpoint::gc(&**store, thread, policy).await?)
        })
    }

    pub(crate) fn trust(&self) -> Boxed<'_, Result<bool, RunError>> {
        Box::pin(async move {
            let (store, thread) = self.stored("trust")?;
            Ok(checkpoint::trust(&**store, thread).await?)
        })
    }

    fn stored(&self, what: &'static str) -> Result<(&Arc<dyn Checkpointer>, &ThreadId), RunError> {
        self.graph.store.as_ref().zip(self.id.as_ref()).ok_or(RunError::NoCheckpointer { what })
    }
}
