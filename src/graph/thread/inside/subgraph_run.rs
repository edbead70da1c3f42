//! The runs of subgraphs in tasks, found by the namespace of their events: their checkpoints, newest first, and their states. LangGraph:
//! `checkpoint_ns`. Knows no run that is under way.

use tokio::sync::OnceCell;

use super::super::handle::{Thread, ThreadCore};
use super::calling_task::{Call, CallingTask, TaskPlace};
use crate::checkpoint::{CheckpointId, CheckpointRecord};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{CheckpointInfo, Reader};
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{AnyState, Boxed, State};
use crate::graph::view::event::parse_task_id;
use crate::graph::view::{
    Activation, AnyChild, CheckpointOutline, Ledger, NestedSnapshot, ReadMode, Snapshot, TaskSnapshot,
};

const READING: &str = "reading a subgraph of a thread";

/// A run of a subgraph in a task: its checkpoints since the task called it, and their states.
pub struct SubgraphRun {
    reader: Reader,
    child: AnyChild,
    /// Its newest checkpoint, and the namespace of all.
    tip: CheckpointId,
    namespace: String,
    /// The tasks whose subgraphs it is in, the outermost first.
    callers: Vec<Caller>,
    root: ThreadCore,
    ledger: OnceCell<Option<(Ledger, Activation)>>,
    /// True if its calls were not told apart: checkpoints of the other calls are found too.
    finds_other_calls: bool,
}

/// A task that calls a subgraph, in one of its calls.
#[derive(Clone)]
struct Caller {
    task: CallingTask,
    activation: Activation,
    /// The subgraph that the task is of; none for the thread's own graph.
    graph: Option<AnyChild>,
}

impl std::fmt::Debug for SubgraphRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubgraphRun")
            .field("namespace", &self.namespace)
            .field("tip", &self.tip)
            .finish_non_exhaustive()
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the run of a subgraph at a [namespace](crate::graph::Event): tasks as `node:task`, the outermost first, each followed by
    /// `#0`, `#1` and so on for one of several calls. Without a number it is the active call, else the first of the last attempt; as events
    /// of the first call have no number, the checkpoints of the other calls are then found by their ids too. `None` if no such task has
    /// run a subgraph that is stored.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, RunError, State};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(thread: Thread<S, N, ()>, event: superstep::graph::Event) -> Result<(), RunError> {
    /// let Some(inside) = thread.subgraph_run(&event.namespace).await? else { return Ok(()) };
    /// println!("{} checkpoints; next {:?}", inside.checkpoints().await?.len(), inside.state().await?.next);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn subgraph_run(&self, namespace: &[String]) -> Result<Option<SubgraphRun>, RunError> {
        self.core.subgraph_run(namespace).await
    }

    /// Returns the runs of all subgraphs that a task has called: those of its earlier attempts and of its error handler too. `task` is
    /// the task's id.
    ///
    /// # Errors
    /// As [`subgraph_run`](Self::subgraph_run).
    pub async fn subgraph_calls(&self, node: &str, task: &str) -> Result<Vec<SubgraphRun>, RunError> {
        self.core.subgraph_calls(node, task).await
    }
}

impl ThreadCore {
    fn subgraph_run<'a>(&'a self, namespace: &'a [String]) -> Boxed<'a, Result<Option<SubgraphRun>, RunError>> {
        Box::pin(catch_panics(READING, async move {
            let Some(places) = TaskPlace::parse(namespace) else { return Ok(None) };
            let (reader, _) = self.reader(READING).await?;
            let mut found: Option<SubgraphRun> = None;
            for place in places {
                let above = match found {
                    None => None,
                    Some(run) => match run.around(place.id).await? {
                        None => return Ok(None),
                        run => run,
                    },
                };
                let Some(run) = (Above { root: self, reader: &reader, run: above.as_ref() }).run(&place).await? else {
                    return Ok(None);
                };
                found = Some(run);
            }
            Ok(found)
        }))
    }

    fn subgraph_calls<'a>(&'a self, node: &'a str, task: &'a str) -> Boxed<'a, Result<Vec<SubgraphRun>, RunError>> {
        Box::pin(catch_panics(READING, async move {
            let (reader, _) = self.reader(READING).await?;
            Above { root: self, reader: &reader, run: None }.calls(node, task).await
        }))
    }

    fn children_of(&self, node: &str) -> &[AnyChild] {
        let table = &self.graph.table;
        table.node_index(node).map_or(&[][..], |node| table.children_of(node))
    }
}

/// A graph whose tasks call subgraphs: that of a thread, or a subgraph.
struct Above<'a> {
    root: &'a ThreadCore,
    reader: &'a Reader,
    run: Option<&'a SubgraphRun>,
}

impl Above<'_> {
    fn children(&self, node: &str) -> &[AnyChild] {
        self.run.map_or_else(|| self.root.children_of(node), |run| run.child.0.children(node))
    }

    /// Finds a task of one of the graph's checkpoints whose node calls subgraphs.
    async fn task(&self, node: &str, id: &str) -> Result<Option<CallingTask>, RunError> {
        let (children, Some((checkpoint, _))) = (self.children(node), parse_task_id(id)) else { return Ok(None) };
        if children.is_empty() {
            return Ok(None);
        }
        let Some(record) = self.reader.record(checkpoint).await? else { return Ok(None) };
        let listed = vec![(checkpoint, record.clone())];
        let outlines = match self.run {
            Some(run) => run.child.0.outlines(self.reader, listed).await?,
            None => CheckpointOutline::read_all(&self.root.graph.table, self.reader, listed).await?,
        };
        match outlines.first().and_then(|made| made.task(id)).filter(|task| task.name == node) {
            Some(task) => CallingTask::of(self.reader, (checkpoint, record), task, children).await.map(Some),
            None => Ok(None),
        }
    }

    async fn run(&self, place: &TaskPlace<'_>) -> Result<Option<SubgraphRun>, RunError> {
        let Some(task) = self.task(place.node, place.id).await? else { return Ok(None) };
        let Some(call) = task.call(self.reader, place.call).await? else { return Ok(None) };
        let run = self.run_of(&task, call).await?;
        Ok(run.map(|run| SubgraphRun { finds_other_calls: place.call.is_none(), ..run }))
    }

    async fn calls(&self, node: &str, id: &str) -> Result<Vec<SubgraphRun>, RunError> {
        let Some(task) = self.task(node, id).await? else { return Ok(vec![]) };
        let mut runs = vec![];
        for call in task.calls(self.reader).await? {
            runs.extend(self.run_of(&task, call).await?);
        }
        Ok(runs)
    }

    async fn run_of(&self, task: &CallingTask, call: Call) -> Result<Option<SubgraphRun>, RunError> {
        let above = self.run.map(|run| (run.callers.as_slice(), Some(run.child.clone()))).unwrap_or_default();
        SubgraphRun::of(self.reader, self.root, above, task, call).await
    }
}

impl SubgraphRun {
    /// Returns the run of a call of a task; `above`: the tasks around the graph of the task, and that graph.
    async fn of(
        reader: &Reader,
        root: &ThreadCore,
        (above, graph): (&[Caller], Option<AnyChild>),
        task: &CallingTask,
        (call, tip): Call,
    ) -> Result<Option<Self>, RunError> {
        let newest = reader.known_record(tip).await?;
        let Some(child) = task.child(&newest).cloned() else { return Ok(None) };
        let activation = task.activation(reader, &child, call).await?;
        let caller = Caller { task: task.clone(), activation, graph };
        Ok(Some(Self {
            reader: reader.clone(),
            child,
            tip,
            namespace: newest.namespace,
            callers: above.iter().cloned().chain([caller]).collect(),
            root: root.clone(),
            ledger: OnceCell::new(),
            finds_other_calls: false,
        }))
    }

    /// Returns the nodes of the tasks whose subgraphs it is in, the outermost first.
    pub fn path(&self) -> Vec<String> {
        self.callers.iter().map(|caller| caller.task.node.clone()).collect()
    }

    /// Returns its checkpoints without their states, the newest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn checkpoints(&self) -> Result<Vec<CheckpointInfo>, RunError> {
        let line = catch_panics(READING, self.reader.nested_line(self.tip, self.since())).await?;
        Ok(line.iter().rev().map(|(id, record)| CheckpointInfo::of(*id, record)).collect())
    }

    /// Returns up to `limit` checkpoints before one of them, or the newest ones, with their tasks, the newest first.
    ///
    /// # Errors
    /// [`RunError::UnknownCheckpoint`] if `before` is none of them; if the store cannot be read.
    pub async fn outline(
        &self,
        before: Option<CheckpointId>,
        limit: usize,
    ) -> Result<Vec<CheckpointOutline>, RunError> {
        catch_panics(READING, self.read_outlines(before, limit)).await
    }

    async fn read_outlines(
        &self,
        before: Option<CheckpointId>,
        limit: usize,
    ) -> Result<Vec<CheckpointOutline>, RunError> {
        let tip = match before {
            Some(before) => self.known(before).await?.parent,
            None => Some(self.tip),
        };
        let Some(tip) = tip else { return Ok(vec![]) };
        let (mut listed, mut line) = (vec![], self.reader.ancestors(tip, self.since()));
        while listed.len() < limit
            && let Some((id, Some(record))) = line.next().await?
        {
            listed.push((id, record));
        }
        self.child.0.outlines(&self.reader, listed).await
    }

    /// Returns one of its checkpoints with its tasks; `None` if it has no such checkpoint.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn checkpoint(&self, at: CheckpointId) -> Result<Option<CheckpointOutline>, RunError> {
        catch_panics(READING, async {
            let Some(record) = self.own(at).await? else { return Ok(None) };
            Ok(self.child.0.outlines(&self.reader, vec![(at, record)]).await?.pop())
        })
        .await
    }

    /// Returns its present state: with the results of tasks that ended since its newest checkpoint.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn state(&self) -> Result<NestedSnapshot, RunError> {
        catch_panics(READING, self.read(self.tip, (ReadMode::Live, false))).await
    }

    /// Returns its present state with those of the subgraphs below it.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn state_deep(&self) -> Result<NestedSnapshot, RunError> {
        catch_panics(READING, self.read(self.tip, (ReadMode::Live, true))).await
    }

    /// Returns its state at one of its checkpoints, as it was; `None` if it has no such checkpoint.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn state_at(&self, checkpoint: CheckpointId) -> Result<Option<NestedSnapshot>, RunError> {
        catch_panics(READING, async {
            if self.own(checkpoint).await?.is_some() {
                return self.read(checkpoint, (ReadMode::Past, false)).await.map(Some);
            }
            let Some(other) = self.other_call(checkpoint).await? else { return Ok(None) };
            other.read(checkpoint, (ReadMode::Past, false)).await.map(Some)
        })
        .await
    }

    /// Returns the call of its task that has the checkpoint in the id of a task: this one, or another if they are not told apart.
    async fn around(self, task: &str) -> Result<Option<Self>, RunError> {
        let Some((checkpoint, _)) = parse_task_id(task) else { return Ok(None) };
        match self.own(checkpoint).await? {
            Some(_) => Ok(Some(self)),
            None => self.other_call(checkpoint).await,
        }
    }

    /// Returns the run of another call of its task that has a checkpoint.
    async fn other_call(&self, checkpoint: CheckpointId) -> Result<Option<Self>, RunError> {
        let Some((caller, above)) = self.callers.split_last().filter(|_| self.finds_other_calls) else {
            return Ok(None);
        };
        for call in caller.task.calls(&self.reader).await? {
            let run = Self::of(&self.reader, &self.root, (above, caller.graph.clone()), &caller.task, call).await?;
            if let Some(run) = run
                && run.own(checkpoint).await?.is_some()
            {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// Returns the runs of all subgraphs that a task of its checkpoints has called, as [`Thread::subgraph_calls`] does.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub async fn calls_of(&self, task: &TaskSnapshot) -> Result<Vec<Self>, RunError> {
        let above = Above { root: &self.root, reader: &self.reader, run: Some(self) };
        catch_panics(READING, above.calls(&task.name, &task.id)).await
    }

    async fn read(&self, id: CheckpointId, mode: (ReadMode, bool)) -> Result<NestedSnapshot, RunError> {
        let mut snapshot = self.child.0.read(&self.reader, id, mode).await?;
        if let Some((ledger, activation)) = self.ledger.get_or_try_init(|| self.read_ledger()).await? {
            for task in &mut snapshot.tasks {
                task.ledger.place_below(ledger, *activation);
                task.settle_below();
            }
        }
        Ok(snapshot)
    }

    /// Returns the record of one of its checkpoints; `None` if it has no such checkpoint.
    async fn own(&self, id: CheckpointId) -> Result<Option<CheckpointRecord>, RunError> {
        let found = self.reader.record(id).await?;
        Ok(found.filter(|record| record.namespace == self.namespace && id > self.since()))
    }

    async fn known(&self, id: CheckpointId) -> Result<CheckpointRecord, RunError> {
        self.own(id).await?.ok_or_else(|| self.reader.unknown(id))
    }

    /// Returns the checkpoint after which all of its own were made.
    fn since(&self) -> CheckpointId {
        self.callers.last().map_or(CheckpointId(0), |caller| caller.task.checkpoint)
    }

    /// Returns the ledger of the task that calls it, and the activation.
    async fn read_ledger(&self) -> Result<Option<(Ledger, Activation)>, RunError> {
        let Some((first, rest)) = self.callers.split_first() else { return Ok(None) };
        let (table, at) = (&self.root.graph.table, first.task.checkpoint);
        let snapshot = Snapshot::<AnyState>::read(table, &self.reader, at, ReadMode::Past, false).await?;
        let (mut found, mut activation) = (ledger_of(snapshot.tasks, &first.task), first.activation);
        for caller in rest {
            let (Some(above), Some(graph)) = (&found, &caller.graph) else { return Ok(None) };
            let snapshot = graph.0.read(&self.reader, caller.task.checkpoint, (ReadMode::Past, false)).await?;
            let mut ledger = ledger_of(snapshot.tasks, &caller.task);
            ledger.iter_mut().for_each(|ledger| ledger.place_below(above, activation));
            (found, activation) = (ledger, caller.activation);
        }
        Ok(found.map(|ledger| (ledger, activation)))
    }
}

/// Returns the ledger of a task among those of its checkpoint.
fn ledger_of(tasks: Vec<TaskSnapshot>, caller: &CallingTask) -> Option<Ledger> {
    tasks.into_iter().find(|task| task.id == caller.id).map(|task| task.ledger)
}
