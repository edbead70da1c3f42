//! A registered graph as a runner drives it. Other processes can follow and cancel its runs.

use std::path::PathBuf;
use std::sync::Arc;

use super::control::Control;
use super::erased::{AnyThread, RunRequest};
use super::events::{EventBuffer, timed_event_json};
use super::graphs::Graphs;
use super::relocation::locate_to_run;
use crate::checkpoint::{BoxFuture, Checkpointer, ThreadId};
use crate::graph::runner::{Driven, RunnerStop, Turn};
use crate::graph::{Event, RunError, Status};

/// A graph of a program with a store.
pub(crate) struct Registered {
    pub graphs: Arc<Graphs>,
    pub name: String,
    pub store: Arc<dyn Checkpointer>,
    /// The folder of the store.
    pub path: PathBuf,
    pub control: Control,
}

impl Registered {
    fn thread(&self, id: &ThreadId) -> Result<Arc<dyn AnyThread>, RunError> {
        let graph = self.graphs.find(&self.name);
        let graph =
            graph.ok_or_else(|| RunError::InvalidConfig { what: format!("no graph is named `{}`", self.name) })?;
        Ok(graph.thread(Arc::clone(&self.store), id.clone()))
    }

    async fn drive(&self, turn: Turn) -> Result<RunnerStop, RunError> {
        let Turn { thread: id, cancel, drain, .. } = turn;
        let thread = self.thread(&id)?;
        let own = cancel.child_token();
        let running = self.control.runs(id.as_str(), own.clone());
        let invalid = |failure: super::failure::Failure| RunError::InvalidConfig { what: failure.error };
        locate_to_run(&*thread, id.as_str(), &self.path).await.map_err(invalid)?;
        let mut run = thread.run(RunRequest::Drained(drain), own.clone()).map_err(invalid)?;
        let labels = thread.labels();
        let emit = |event: &Event| timed_event_json(event, &labels).iter().for_each(|json| running.record(json));
        let mut buffer = EventBuffer::default();
        while let Some(event) = run.next().await {
            buffer.push(event).iter().for_each(emit);
        }
        let ended = run.end().await;
        if !matches!(ended, Err(RunError::Checkpoint(_))) {
            buffer.finish().iter().for_each(emit);
        }
        drop(running);
        let is_cancelled = own.is_cancelled() && !cancel.is_cancelled();
        let status = thread.status().await?;
        Ok(RunnerStop { thread: id, graph: self.name.clone(), status, error: ended.err(), is_cancelled })
    }
}

impl Driven for Registered {
    fn name(&self) -> &str {
        &self.name
    }

    fn store(&self) -> Option<Arc<dyn Checkpointer>> {
        Some(Arc::clone(&self.store))
    }

    fn status(&self, thread: ThreadId) -> BoxFuture<'_, Result<Status, RunError>> {
        Box::pin(async move { self.thread(&thread)?.status().await })
    }

    fn turn(&self, turn: Turn) -> BoxFuture<'_, Result<RunnerStop, RunError>> {
        Box::pin(self.drive(turn))
    }
}
