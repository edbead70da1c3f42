//! The checkpoints of a subgraph that a task ran, found by the namespace of its events. LangGraph: `checkpoint_ns`. Knows no run.

use super::super::handle::{Thread, ThreadCore};
use crate::checkpoint::{CheckpointId, CheckpointRecord};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{BY_HANDLER, CheckpointInfo, Reader};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{Boxed, State};
use crate::graph::view::{AnyChild, NestedSnapshot, ReadMode};

const READING: &str = "reading a subgraph of a thread";

/// A subgraph that a task ran, with its checkpoints since then.
pub struct SubgraphRun {
    child: AnyChild,
    reader: Reader,
    /// Its checkpoints, the oldest first; at least one.
    line: Vec<(CheckpointId, CheckpointRecord)>,
}

impl std::fmt::Debug for SubgraphRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubgraphRun").field("checkpoints", &self.line.len()).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the subgraph whose events have this [namespace](crate::graph::Event): tasks as `node:task`, the outermost first, each
    /// followed by `#1` and so on for a later call of the same task. `None` if no such task has run a subgraph that is stored.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, RunError, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>, event: superstep::graph::Event) -> Result<(), RunError> {
    /// let Some(inside) = thread.subgraph_run(&event.namespace).await? else { return Ok(()) };
    /// println!("{} checkpoints; next {:?}", inside.checkpoints().len(), inside.state().await?.next);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn subgraph_run(&self, namespace: &[String]) -> Result<Option<SubgraphRun>, RunError> {
        self.core.subgraph_run(namespace).await
    }
}

impl SubgraphRun {
    /// Returns its checkpoints without their states, the newest first.
    pub fn checkpoints(&self) -> Vec<CheckpointInfo> {
        self.line.iter().rev().map(|(id, record)| CheckpointInfo::of(*id, record)).collect()
    }

    /// Returns its present state: with the results of tasks that ended since its newest checkpoint.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn state(&self) -> Result<NestedSnapshot, RunError> {
        self.read(self.newest(), (ReadMode::Live, false)).await
    }

    /// Returns its present state with those of the subgraphs below it.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn state_deep(&self) -> Result<NestedSnapshot, RunError> {
        self.read(self.newest(), (ReadMode::Live, true)).await
    }

    /// Returns its state at one of its checkpoints, as it was; `None` if the checkpoint is not one of them.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn state_at(&self, checkpoint: CheckpointId) -> Result<Option<NestedSnapshot>, RunError> {
        match self.line.iter().any(|(id, _)| *id == checkpoint) {
            true => self.read(checkpoint, (ReadMode::Past, false)).await.map(Some),
            false => Ok(None),
        }
    }

    fn newest(&self) -> CheckpointId {
        self.line.last().map_or(CheckpointId(0), |(id, _)| *id)
    }

    async fn read(&self, id: CheckpointId, mode: (ReadMode, bool)) -> Result<NestedSnapshot, RunError> {
        catch_panics(READING, self.child.0.read(&self.reader, id, mode)).await
    }
}

/// A part of a namespace: a task, and the number of the call if it is not the first.
struct TaskPlace<'a> {
    node: &'a str,
    checkpoint: CheckpointId,
    task: u32,
    call: Option<u32>,
}

impl<'a> TaskPlace<'a> {
    /// Reads the parts of a namespace; `None` if it is none.
    fn parse(namespace: &'a [String]) -> Option<Vec<Self>> {
        let mut places: Vec<Self> = vec![];
        for part in namespace {
            if let Some(call) = part.strip_prefix('#') {
                places.last_mut()?.call = Some(call.parse().ok()?);
                continue;
            }
            let (node, id) = part.rsplit_once(':')?;
            let (checkpoint, task) = id.split_once('-')?;
            let (checkpoint, task) = (checkpoint.parse().ok()?, u32::from_str_radix(task, 16).ok()?);
            places.push(Self { node, checkpoint: CheckpointId(checkpoint), task, call: None });
        }
        Some(places)
    }

    /// Returns the newest checkpoint of the subgraph that the task ran.
    async fn tip(&self, reader: &Reader) -> Result<Option<CheckpointId>, RunError> {
        let mut called = reader.children_of(self.checkpoint, self.task).await?;
        if let Some(number) = self.call {
            called.retain(|(_, call, _)| call & !BY_HANDLER == number);
        }
        let active = reader.active_child(&reader.tasks(self.checkpoint).await?, called).await?;
        Ok(active.map(|(.., tip)| tip))
    }
}

impl ThreadCore {
    fn subgraph_run<'a>(&'a self, namespace: &'a [String]) -> Boxed<'a, Result<Option<SubgraphRun>, RunError>> {
        Box::pin(catch_panics(READING, self.find_subgraph(namespace)))
    }

    async fn find_subgraph(&self, namespace: &[String]) -> Result<Option<SubgraphRun>, RunError> {
        let Some(places) = TaskPlace::parse(namespace) else { return Ok(None) };
        let (reader, _) = self.reader(READING).await?;
        let table = &self.graph.table;
        let mut found: Option<(AnyChild, CheckpointId, CheckpointId)> = None;
        for place in places {
            let children = match &found {
                Some((child, ..)) => child.0.children(place.node),
                None => table.node_index(place.node).map_or(&[][..], |node| table.children_of(node)),
            };
            let Some(tip) = place.tip(&reader).await? else { return Ok(None) };
            let Some(child) = child_of(&reader, children, tip).await? else { return Ok(None) };
            found = Some((child, place.checkpoint, tip));
        }
        let Some((child, since, tip)) = found else { return Ok(None) };
        let line = reader.nested_line(tip, since).await?;
        Ok(Some(SubgraphRun { child, reader, line }))
    }
}

/// Returns that one of the subgraphs of a node which made a checkpoint.
async fn child_of(reader: &Reader, children: &[AnyChild], tip: CheckpointId) -> Result<Option<AnyChild>, RunError> {
    let shape = reader.record(tip).await?.map(|record| record.shape);
    Ok(children.iter().find(|child| Some(child.0.fingerprint()) == shape).or(children.first()).cloned())
}
