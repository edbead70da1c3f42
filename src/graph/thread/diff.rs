//! Comparing checkpoints of threads. What differs is told in `diff`; here is only which checkpoints are meant.

use crate::checkpoint::CheckpointId;

use super::handle::Thread;
use crate::graph::channels::state::State;
use crate::graph::define::node::NodeId;
use crate::graph::diff::Diff;
use crate::graph::diff::compare::compare;
use crate::graph::diff::face::{Face, face};
use crate::graph::run::error::RunError;
use crate::graph::run::net::netted;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns what differs between two checkpoints of the thread: its channels, what runs next, what was asked. Both are taken
    /// as they were made, with the questions that their tasks asked last. What both share is not read: channels in the same
    /// rows, and the entries of an appended list that was there before.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>) -> Result<(), Box<dyn std::error::Error>> {
    /// let steps = thread.history().await?.limit(2).metadata_only().await?;
    /// let diff = thread.diff(steps[1].id, steps[0].id).await?;
    /// println!("{diff}"); // for people
    /// println!("{}", serde_json::to_string(&diff)?); // for tools
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`RunError::UnknownThread`], [`RunError::UnknownCheckpoint`]; if there is no store, it cannot be read, or a value in it does not fit its channel.
    pub async fn diff(&self, from: CheckpointId, to: CheckpointId) -> Result<Diff, RunError> {
        self.clone().at(from).diff_to(&self.clone().at(to)).await
    }

    /// The same, with the subgraphs of both.
    ///
    /// # Errors
    /// As [`diff`](Self::diff).
    pub async fn diff_deep(&self, from: CheckpointId, to: CheckpointId) -> Result<Diff, RunError> {
        self.clone().at(from).diff_deep_to(&self.clone().at(to)).await
    }

    /// Returns what leads from this handle's checkpoint ([`at`](Self::at); else the thread's newest) to that of another: of any
    /// thread, store and graph. Channels are compared by name.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`] if one of the threads has never run; otherwise as [`diff`](Self::diff).
    pub async fn diff_to<T: State, M: NodeId, D: Send + Sync + 'static>(
        &self,
        to: &Thread<T, M, D>,
    ) -> Result<Diff, RunError> {
        netted("comparing checkpoints", self.compared(to, false)).await
    }

    /// The same, with the subgraphs of both.
    ///
    /// # Errors
    /// As [`diff_to`](Self::diff_to).
    pub async fn diff_deep_to<T: State, M: NodeId, D: Send + Sync + 'static>(
        &self,
        to: &Thread<T, M, D>,
    ) -> Result<Diff, RunError> {
        netted("comparing checkpoints", self.compared(to, true)).await
    }

    async fn compared<T: State, M: NodeId, D: Send + Sync + 'static>(
        &self,
        to: &Thread<T, M, D>,
        deep: bool,
    ) -> Result<Diff, RunError> {
        compare(&*self.face().await?, &*to.face().await?, deep).await
    }

    async fn face(&self) -> Result<Box<dyn Face>, RunError> {
        let (reader, head) = self.known("comparing checkpoints").await?;
        self.check_at(&reader).await?;
        let newest = match self.at {
            Some(_) => None,
            None => self.newest(&reader, Some(head)).await?.map(|(id, _)| id),
        };
        let id = self.at.or(newest).ok_or_else(|| self.unknown())?;
        face(&self.graph.table, &reader, id).await
    }
}
