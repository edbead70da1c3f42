//! What a person decides about a thread as a whole: names for its checkpoints, what of its past is kept, and whether one
//! that came from elsewhere may be run. Knows no records: that is the checkpoint room's business.

use std::sync::Arc;

use super::handle::Thread;
use crate::checkpoint::{self, CheckpointId, Checkpointer, Retention, Swept, ThreadId};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::state::State;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Gives the checkpoint that this handle is [at](Self::at), or the newest, a name, by which [`gc`](Self::gc) keeps it. A
    /// name that was another checkpoint's moves; that one is returned.
    ///
    /// # Errors
    /// [`RunError::EmptyInput`] if the thread has never run; as [`checkpoint::tag`].
    pub async fn tag(&self, name: impl AsRef<str>) -> Result<Option<CheckpointId>, RunError> {
        let (reader, head) = self.reader("a tag").await?;
        self.check_at(&reader).await?;
        let newest = self.newest(&reader, head).await?.map(|(id, _)| id);
        let id = self.at.or(newest).ok_or_else(|| self.unknown())?;
        Ok(checkpoint::tag(&*reader.store, &reader.thread, id, name.as_ref()).await?)
    }

    /// Takes a name away; returns which checkpoint had it.
    ///
    /// # Errors
    /// As [`checkpoint::untag`].
    pub async fn untag(&self, name: impl AsRef<str>) -> Result<Option<CheckpointId>, RunError> {
        let (store, thread) = self.stored("a tag")?;
        Ok(checkpoint::untag(&**store, thread, name.as_ref()).await?)
    }

    /// Returns the names of the thread's checkpoints, in order.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn tags(&self) -> Result<Vec<(String, CheckpointId)>, RunError> {
        let (store, thread) = self.stored("tags")?;
        Ok(checkpoint::tags(&**store, thread).await?)
    }

    /// Removes what the policy does not keep of the thread's past.
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
        self.check_whole("a removal")?;
        let (store, thread) = self.stored("a removal")?;
        Ok(checkpoint::gc(&**store, thread, policy).await?)
    }

    /// Lets a thread that was imported be run, answered, updated and forked. Returns whether it had to be said.
    ///
    /// # Errors
    /// As [`checkpoint::trust`].
    pub async fn trust(&self) -> Result<bool, RunError> {
        let (store, thread) = self.stored("trust")?;
        Ok(checkpoint::trust(&**store, thread).await?)
    }

    fn stored(&self, what: &'static str) -> Result<(&Arc<dyn Checkpointer>, &ThreadId), RunError> {
        self.graph.store.as_ref().zip(self.id.as_ref()).ok_or(RunError::NoCheckpointer { what })
    }
}
