//! The checkpoints of a subgraph that a task ran, found by the namespace of its events. LangGraph: `checkpoint_ns`. Knows no run.

use super::super::handle::{Thread, ThreadCore};
use crate::checkpoint::{CheckpointId, CheckpointRecord};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{BY_HANDLER, CheckpointInfo, Reader};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{Boxed, State};
use crate::graph::view::{AnyChild, NestedSnapshot, ReadMode, TaskSnapshot};

const READING: &str = "reading a subgraph of a thread";

/// A subgraph that a task ran, with its checkpoints since then.
pub struct SubgraphRun {
    child: AnyChild,
    reader: Reader,
    /// Its checkpoints, the oldest first; at least one.
    line: Vec<(CheckpointId, CheckpointRecord)>,
    /// The task, if its calls were not told apart: checkpoints of the other calls are found too.
    caller: Option<CallingTask>,
}

impl std::fmt::Debug for SubgraphRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubgraphRun").field("checkpoints", &self.line.len()).finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the subgraph at a [namespace](crate::graph::Event): tasks as `node:task`, the outermost first, each followed by `#0`, `#1`
    /// and so on for one of several calls. Without a number it is the active call, else the first of the last attempt; as events of the
    /// first call have no number, [`state_at`](SubgraphRun::state_at) then finds the checkpoints of the other calls too. `None` if no such
    /// task has run a subgraph that is stored.
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

    /// Returns all subgraphs that a task has run, one for each call: those of its earlier attempts and of its error handler too.
    /// `task` is the task's id.
    ///
    /// # Errors
    /// As [`subgraph_run`](Self::subgraph_run).
    pub async fn subgraph_calls(&self, node: &str, task: &str) -> Result<Vec<SubgraphRun>, RunError> {
        catch_panics(READING, self.core.subgraph_calls(node, task)).await
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
        if self.has(checkpoint) {
            return self.read(checkpoint, (ReadMode::Past, false)).await.map(Some);
        }
        let Some(caller) = &self.caller else { return Ok(None) };
        let calls = catch_panics(READING, caller.calls(&self.reader)).await?;
        let Some(call) = calls.iter().find(|call| call.has(checkpoint)) else { return Ok(None) };
        call.read(checkpoint, (ReadMode::Past, false)).await.map(Some)
    }

    /// Returns all subgraphs that a task of its checkpoints has run, as [`Thread::subgraph_calls`] does.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn calls_of(&self, task: &TaskSnapshot) -> Result<Vec<Self>, RunError> {
        let Some(caller) = CallingTask::find(&task.id, self.child.0.children(&task.name)) else { return Ok(vec![]) };
        catch_panics(READING, caller.calls(&self.reader)).await
    }

    fn has(&self, checkpoint: CheckpointId) -> bool {
        self.line.iter().any(|(id, _)| *id == checkpoint)
    }

    fn newest(&self) -> CheckpointId {
        self.line.last().map_or(CheckpointId(0), |(id, _)| *id)
    }

    async fn read(&self, id: CheckpointId, mode: (ReadMode, bool)) -> Result<NestedSnapshot, RunError> {
        catch_panics(READING, self.child.0.read(&self.reader, id, mode)).await
    }
}

/// A task, and the subgraphs of its node.
struct CallingTask {
    checkpoint: CheckpointId,
    task: u32,
    children: Vec<AnyChild>,
}

impl CallingTask {
    /// Returns the task of an id, whose node has these subgraphs; `None` if it is not an id.
    fn find(id: &str, children: &[AnyChild]) -> Option<Self> {
        let (checkpoint, task) = id.split_once('-')?;
        let (checkpoint, task) = (CheckpointId(checkpoint.parse().ok()?), u32::from_str_radix(task, 16).ok()?);
        Some(Self { checkpoint, task, children: children.to_vec() })
    }

    /// Returns the newest checkpoint of the call with a number, or of the active one. A number also finds a call of an earlier attempt.
    async fn tip(&self, reader: &Reader, number: Option<u32>) -> Result<Option<CheckpointId>, RunError> {
        let mut called = reader.children_of(self.checkpoint, self.task).await?;
        called.retain(|(_, call, _)| number.is_none_or(|number| call & !BY_HANDLER == number));
        let earlier = called.last().filter(|_| number.is_some()).map(|(.., tip)| *tip);
        let active = reader.active_child(&reader.tasks(self.checkpoint).await?, called).await?;
        Ok(active.map(|(.., tip)| tip).or(earlier))
    }

    /// Returns the one of its subgraphs that made a checkpoint.
    async fn child(&self, reader: &Reader, tip: CheckpointId) -> Result<Option<AnyChild>, RunError> {
        let shape = reader.record(tip).await?.map(|record| record.shape);
        let same = self.children.iter().find(|child| Some(child.0.fingerprint()) == shape);
        Ok(same.or(self.children.first()).cloned())
    }

    /// Returns the subgraph with this newest checkpoint.
    async fn run(&self, reader: &Reader, tip: CheckpointId) -> Result<Option<SubgraphRun>, RunError> {
        let Some(child) = self.child(reader, tip).await? else { return Ok(None) };
        let line = reader.nested_line(tip, self.checkpoint).await?;
        Ok(Some(SubgraphRun { child, reader: reader.clone(), line, caller: None }))
    }

    /// Returns the subgraphs of all calls.
    async fn calls(&self, reader: &Reader) -> Result<Vec<SubgraphRun>, RunError> {
        let mut runs = vec![];
        for (.., tip) in reader.children_of(self.checkpoint, self.task).await? {
            runs.extend(self.run(reader, tip).await?);
        }
        Ok(runs)
    }
}

/// A part of a namespace: a task, and the number of the call if there is one.
struct TaskPlace<'a> {
    node: &'a str,
    id: &'a str,
    call: Option<u32>,
}

impl<'a> TaskPlace<'a> {
    /// Reads the parts of a namespace; `None` if it is none.
    fn parse(namespace: &'a [String]) -> Option<Vec<Self>> {
        let mut places: Vec<Self> = vec![];
        for part in namespace {
            if let Some(call) = part.strip_prefix('#') {
                let place = places.last_mut().filter(|place| place.call.is_none())?;
                place.call = Some(call.parse().ok()?);
                continue;
            }
            let (node, id) = part.rsplit_once(':')?;
            places.push(Self { node, id, call: None });
        }
        Some(places)
    }
}

impl ThreadCore {
    fn subgraph_run<'a>(&'a self, namespace: &'a [String]) -> Boxed<'a, Result<Option<SubgraphRun>, RunError>> {
        Box::pin(catch_panics(READING, self.find_subgraph(namespace)))
    }

    async fn find_subgraph(&self, namespace: &[String]) -> Result<Option<SubgraphRun>, RunError> {
        let Some(places) = TaskPlace::parse(namespace) else { return Ok(None) };
        let (reader, _) = self.reader(READING).await?;
        let (mut above, mut found): (Option<AnyChild>, _) = (None, None);
        for place in places {
            let children = match &above {
                Some(child) => child.0.children(place.node),
                None => self.children_of(place.node),
            };
            let Some(caller) = CallingTask::find(place.id, children) else { return Ok(None) };
            let Some(tip) = caller.tip(&reader, place.call).await? else { return Ok(None) };
            above = caller.child(&reader, tip).await?;
            found = Some((caller, tip, place.call));
        }
        let Some((caller, tip, call)) = found else { return Ok(None) };
        let run = caller.run(&reader, tip).await?;
        Ok(run.map(|run| SubgraphRun { caller: call.is_none().then_some(caller), ..run }))
    }

    async fn subgraph_calls(&self, node: &str, task: &str) -> Result<Vec<SubgraphRun>, RunError> {
        let Some(caller) = CallingTask::find(task, self.children_of(node)) else { return Ok(vec![]) };
        let (reader, _) = self.reader(READING).await?;
        caller.calls(&reader).await
    }

    fn children_of(&self, node: &str) -> &[AnyChild] {
        let table = &self.graph.table;
        table.node_index(node).map_or(&[][..], |node| table.children_of(node))
    }
}
