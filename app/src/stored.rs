//! [`StoredThread`]: a thread in a store that this process holds, for commands of a program. Must not know types.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use superstep::checkpoint::{CheckpointId, ThreadId};
use superstep::graph::ThreadInfo;

use super::advice::Caller;
use super::failure::{Failure, Refusal, json};
use super::local::Local;
use super::repository::keep_repository;
use super::shapes::{OpenQuestion, ThreadReport, present};
use super::threads::AppThread;

/// A thread in a store that this process holds: a command can read its history and copy it.
pub struct StoredThread {
    pub(crate) found: ThreadSummary,
    pub(crate) thread: AppThread,
    pub(crate) local: Local,
    pub(crate) caller: Caller,
}

/// A checkpoint at which a channel changed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChannelChange {
    /// The checkpoint.
    pub checkpoint: u64,
    /// The value from this checkpoint on.
    pub value: Value,
}

impl std::fmt::Debug for StoredThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredThread").field("found", &self.found).finish_non_exhaustive()
    }
}

impl StoredThread {
    /// Returns the thread as it is.
    pub fn found(&self) -> &ThreadSummary {
        &self.found
    }

    /// Returns the checkpoints at which a channel changed, the newest first.
    ///
    /// # Errors
    /// If there is no such channel, or the store fails.
    pub async fn changes(&self, channel: &str) -> Result<Vec<ChannelChange>, Refusal> {
        let steps = self.thread.history(usize::MAX, Some(channel)).await.map_err(|error| self.refusal(error))?;
        let change = |step: super::shapes::HistoryStep| ChannelChange {
            checkpoint: step.info.checkpoint,
            value: step.value.unwrap_or_default(),
        };
        Ok(steps.into_iter().map(change).collect())
    }

    /// Returns the state at a checkpoint.
    ///
    /// # Errors
    /// If there is no such checkpoint, or the store fails.
    pub async fn state_at(&self, checkpoint: u64) -> Result<Value, Refusal> {
        let shown = self.thread.show(Some(CheckpointId(checkpoint))).await.map_err(|error| self.refusal(error))?;
        Ok(shown.snapshot.state)
    }

    /// Returns whether the store has a thread of a name.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn is_taken(&self, name: &str) -> Result<bool, Refusal> {
        let info = ThreadInfo::read(&*self.local.store, &ThreadId::from(name)).await;
        Ok(info.map_err(|error| self.refusal(error.into()))?.is_some())
    }

    /// Copies the thread as of a checkpoint into a new one named `to`, and writes `values` there as `node`: an object
    /// with values of some channels.
    ///
    /// # Errors
    /// If there is a thread of that name, no such checkpoint, node or channel, or the store fails. There is no new thread then.
    pub async fn copy_to(&self, to: &str, checkpoint: u64, node: &str, values: &impl Serialize) -> Result<(), Refusal> {
        self.copy(to, CheckpointId(checkpoint), node, values).await.map_err(|error| self.refusal(error))
    }

    async fn copy(&self, to: &str, at: CheckpointId, node: &str, values: &impl Serialize) -> Result<(), Failure> {
        let graph = self.local.graphs.of_thread(&self.found.thread, &self.found.graph)?;
        let writing = graph.input(&json(values)?)?;
        self.thread.copy_to(to, at).await?;
        let id = ThreadId::from(to);
        let copy = graph.thread(Arc::clone(&self.local.store), id.clone());
        match copy.update(None, Some(node.to_owned()), writing).await {
            Ok(_) => {
                // Otherwise its next run does.
                let _note = keep_repository(&self.local, &id).await;
                Ok(())
            }
            Err(failure) => {
                drop(copy);
                self.local.delete(&id).await?;
                Err(failure)
            }
        }
    }

    fn refusal(&self, failure: Failure) -> Refusal {
        failure.with_commands(&self.caller, Some(&self.found.thread)).into()
    }
}

/// A thread as a program's command gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSummary {
    /// Its name.
    pub thread: String,
    /// Its graph.
    pub graph: String,
    /// Its status, as `threads` lists it: `finished`, `interrupted`.
    pub status: String,
    /// Its state as JSON.
    pub state: Value,
    /// Its pending interrupts.
    pub pending: Vec<Pending>,
}

impl From<ThreadReport> for ThreadSummary {
    fn from(report: ThreadReport) -> Self {
        let ThreadReport { thread, graph, position, state, .. } = report;
        let pending = position.questions.into_iter().map(Into::into).collect();
        Self { thread, graph, status: position.status, state: present(state), pending }
    }
}

/// A pending interrupt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pending {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The interrupt as JSON.
    pub question: Value,
}

impl From<OpenQuestion> for Pending {
    fn from(asked: OpenQuestion) -> Self {
        Self { id: asked.id, name: asked.name, question: asked.payload }
    }
}
