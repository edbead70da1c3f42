//! The graph of a thread that a handle addresses: the root, or the subgraph of a task. LangGraph: `checkpoint_ns`.

use std::sync::Arc;

use super::handle::{Scope, Thread, ThreadCore};
use super::history::Checkpoints;
use super::open::RunEnd;
use crate::checkpoint::{CheckpointId, Key, QuestionRecord, Row, Source, TaskRecord, TaskStatus, ThreadHead};
use crate::graph::build::{CompiledGraph, GraphCore, Persistence};
use crate::graph::context::{GraphScope, RunShared};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::persist::load::position;
use crate::graph::records::reader::reader;
use crate::graph::records::{
    BY_HANDLER, COMMAND_KEY, Caller, ChildPointer, HANDLER, Mapping, NEW_LINE, Puts, Reader, SENT,
};
use crate::graph::run::{ParentPointer, Run};
use crate::graph::state::State;
use crate::graph::superstep::Position;

impl Scope {
    /// Returns the nodes and call numbers that lead to the subgraph of these tasks.
    fn subgraph_path(&self, callers: &[Caller]) -> Vec<String> {
        let part = |(node, caller): (&String, &Caller)| match caller.call.checked_sub(BY_HANDLER) {
            Some(call) => (format!("{HANDLER}{node}"), call),
            None => (node.clone(), caller.call),
        };
        let numbered = |(name, call): (String, u32)| [name].into_iter().chain((call > 0).then(|| format!("#{call}")));
        self.nodes.iter().zip(callers).map(part).flat_map(numbered).collect()
    }

    /// Returns a namespace with the present names of its nodes.
    fn present_names(&self, namespace: &[String]) -> Vec<String> {
        let mut known = self.nodes.iter().zip(&self.names);
        let now = |name: &String| match name.starts_with('#') {
            true => name.clone(),
            false => {
                let (handler, node) = name.strip_prefix(HANDLER).map_or(("", name.as_str()), |node| (HANDLER, node));
                let now = known.next().filter(|(_, names)| names.iter().any(|known| known == node));
                now.map_or_else(|| name.clone(), |(now, _)| format!("{handler}{now}"))
            }
        };
        namespace.iter().map(now).collect()
    }

    /// Returns true if a checkpoint of this namespace belongs to the graph of the scope.
    pub(crate) fn holds(&self, namespace: &str) -> bool {
        let mut rest = namespace;
        for names in &self.names {
            let below = |name: &String| {
                let after = rest.strip_prefix('/')?.strip_prefix(name.as_str())?;
                (after.is_empty() || after.starts_with([':', '#', '~', '/'])).then_some(after)
            };
            let Some(after) = names.iter().find_map(below) else { return false };
            rest = after.find('/').map_or("", |at| &after[at..]);
        }
        rest.is_empty()
    }
}

/// Returns true if a namespace leads through these nodes; the first call of a task has no number.
fn is_inside(namespace: &[String], way: &[String]) -> bool {
    let rest = namespace.strip_prefix(way);
    rest.is_some_and(|rest| rest.first().is_none_or(|next| !next.starts_with('#')))
}

/// Wakes a task that waits for a time or a signal; returns false if it does not. One with pending questions elsewhere
/// is marked as due.
fn wake_task(record: &mut TaskRecord, now: u64) -> bool {
    match record.status {
        TaskStatus::Waiting => (record.status, record.wake) = (TaskStatus::Pending, None),
        TaskStatus::Interrupted if record.wake.is_some_and(|wake| wake > now) || !record.receives.is_empty() => {
            record.wake = Some(now);
        }
        _ => return false,
    }
    record.receives.clear();
    true
}

/// The record that points at the newest checkpoint of a graph.
pub(crate) enum TipPointer {
    /// The head: the graph is the root.
    ThreadHead,
    /// The tasks that run the subgraph and those around it, outermost first.
    Task(Vec<Caller>),
    /// The checkpoint above, at which a subgraph with state of its own ended last, and its name there.
    Ended(CheckpointId, String),
}

/// A loaded run, with the reader and mapping it was loaded with.
pub(crate) struct ScopedRun {
    pub run: Run,
    pub loaded: Option<ReaderMapping>,
    pub is_head: bool,
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns a handle on the subgraph that a pending task of these nodes runs, or that keeps its state for the
    /// thread: for reading its state, status and history, and for updating it. Nodes are named from the outermost on;
    /// if there is no such subgraph, its state is `None`. Runs and deletion need the handle on the root and fail here
    /// with [`RunError::InvalidConfig`].
    ///
    /// ```
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// # #[derive(NodeId)] enum Step { Research }
    /// # async fn example(thread: Thread<Draft, Step>, search: CompiledGraph<Draft, Step>) -> Result<(), RunError> {
    /// let inside = thread.subgraph(&search, [Step::Research.name()]);
    /// println!("{:?}", inside.state().await?.map(|snapshot| snapshot.next));
    /// # Ok(()) }
    /// ```
    pub fn subgraph<T: State, M: NodeId, I: Into<String>>(
        &self,
        child: &CompiledGraph<T, M, C>,
        nodes: impl IntoIterator<Item = I>,
    ) -> Thread<T, M, C> {
        Thread::of(self.core.subgraph(&child.core, nodes.into_iter().map(Into::into).collect()))
    }
}

impl ThreadCore {
    fn subgraph(&self, child: &GraphCore, nodes: Vec<String>) -> ThreadCore {
        let mut graph = child.clone();
        graph.store.clone_from(&self.graph.store);
        let mut thread = ThreadCore::new(graph, self.id.clone(), Arc::clone(&self.context));
        thread.settings.durability = self.settings.durability;
        thread.settings.metadata.clone_from(&self.settings.metadata);
        thread.environment.host = self.environment.host.clone();
        thread.scope.nodes.clone_from(&self.scope.nodes);
        thread.scope.names.clone_from(&self.scope.names);
        thread.scope.names.extend(self.graph.table.names_down(&nodes));
        let missing = nodes.first().filter(|node| self.graph.table.node_index(node).is_none());
        thread.scope.unknown = self.scope.unknown.as_ref().or(missing).cloned();
        thread.scope.nodes.extend(nodes);
        thread
    }

    /// Returns the newest checkpoint of the addressed graph.
    pub(crate) async fn newest(
        &self,
        reader: &Reader,
        head: Option<ThreadHead>,
    ) -> Result<Option<(CheckpointId, TipPointer)>, RunError> {
        if let Some(node) = &self.scope.unknown {
            return Err(RunError::UnknownNode { node: node.clone() });
        }
        let Some(mut at) = head.and_then(|head| head.checkpoint) else { return Ok(None) };
        let mut above = TipPointer::ThreadHead;
        let mut way = &self.scope.names[..];
        while !way.is_empty() {
            let Some(below) = reader.subgraph_tip(at, way).await? else { return Ok(None) };
            above = match (below.caller, above) {
                (None, _) => TipPointer::Ended(at, below.name),
                (Some(caller), TipPointer::Task(callers)) => TipPointer::Task([callers, vec![caller]].concat()),
                (Some(caller), TipPointer::ThreadHead | TipPointer::Ended(..)) => TipPointer::Task(vec![caller]),
            };
            (at, way) = (below.at, &way[below.steps..]);
        }
        Ok(Some((at, above)))
    }

    /// Fails if the checkpoint of this handle is not one of the addressed graph.
    pub(crate) async fn check_at(&self, reader: &Reader) -> Result<(), RunError> {
        let Some(checkpoint) = self.at else { return Ok(()) };
        let record = reader.record(checkpoint).await?;
        match record {
            Some(record) if self.scope.holds(&record.namespace) => Ok(()),
            _ => Err(reader.unknown(checkpoint)),
        }
    }

    /// Fails on a subgraph: runs and operations on the whole thread need the handle on the root.
    pub(crate) fn check_whole(&self, what: &str) -> Result<(), RunError> {
        let Some(node) = self.scope.nodes.last() else { return Ok(()) };
        Err(RunError::InvalidConfig {
            what: format!("{what} is for the whole thread, and this handle is on its subgraph `{node}`"),
        })
    }

    /// Loads the position of the thread, or of the checkpoint `at`, for a write, unless it is known.
    pub(crate) async fn load_for_update(
        &self,
        shared: Arc<RunShared>,
        at: Option<CheckpointId>,
        known: Option<Box<RunEnd>>,
    ) -> Result<ScopedRun, RunError> {
        let table = Arc::clone(&self.graph.table);
        let Some(recorder) = shared.recorder.clone() else {
            return Err(RunError::NoCheckpointer { what: "updating a thread" });
        };
        let reader = reader(&recorder);
        // The end of the superstep before, or of the last run in this process, saves reading the checkpoint.
        let known = match known {
            None => self.take_stored_end(&reader, &recorder).await?,
            known => known,
        };
        if let Some(known) = known {
            let run = Run::new(table, shared, GraphScope::root(), known.position);
            let mapping = run.own_mapping();
            return Ok(ScopedRun { run, loaded: Some((reader, mapping)), is_head: true });
        }
        self.check_at(&reader).await?;
        let (newest, above) = self.newest(&reader, Some(recorder.head())).await?.unzip();
        let is_head = at.is_none() || newest == at;
        // A thread that never ran starts from nothing; a subgraph has no state before its task ran.
        let Some(id) = at.or(newest) else {
            if !self.scope.nodes.is_empty() {
                return Err(RunError::InvalidUpdate { what: "the subgraph has no state to update".into() });
            }
            let run = Run::new(Arc::clone(&table), shared, GraphScope::root(), Position::empty(&table));
            return Ok(ScopedRun { run, loaded: None, is_head });
        };
        let (mut pos, mapping) = position(&reader, &table, id).await?;
        // A write to an older checkpoint starts a branch, whose log entries begin a line of their own.
        if !is_head {
            pos.channels.line = NEW_LINE;
        }
        // A pinned graph reads threads of other versions, but does not write them.
        mapping.check_pin(&reader)?;
        let scope = self.graph_scope(&reader, id).await?;
        let mut run = Run::new(table, shared, scope, pos);
        // With a subgraph, the records around it change: questions close, or the parent's pointer moves.
        match above {
            Some(TipPointer::Task(callers)) => {
                run.outbox.beside = self.closed_questions(&reader, &callers, run.shared.now()).await?;
                run.child.caller = callers.last().copied();
            }
            Some(TipPointer::Ended(above, name)) => run.child.pointer = parent_pointer(&reader, above, name).await?,
            Some(TipPointer::ThreadHead) | None => {}
        }
        Ok(ScopedRun { run, loaded: Some((reader, mapping)), is_head })
    }

    /// Returns the records of the tasks around a subgraph that is updated externally: its questions are closed and its
    /// waits ended.
    async fn closed_questions(&self, reader: &Reader, callers: &[Caller], now: u64) -> Result<Puts, RunError> {
        let (mut puts, way) = (vec![], self.scope.subgraph_path(callers));
        for caller in callers {
            let Some(mut record) = reader.tasks(caller.checkpoint).await?.remove(&caller.task) else { continue };
            let inside = |asked: &&mut QuestionRecord| {
                !asked.answered && is_inside(&self.scope.present_names(&asked.namespace), &way)
            };
            let closed = record.questions.iter_mut().filter(inside).map(|asked| asked.answered = true).count();
            if closed > 0 || wake_task(&mut record, now) {
                let key = Key::Task { checkpoint: caller.checkpoint, task: caller.task };
                puts.push((key, Row::record(record)));
            }
        }
        Ok(puts)
    }

    async fn graph_scope(&self, reader: &Reader, id: CheckpointId) -> Result<Arc<GraphScope>, RunError> {
        if self.scope.nodes.is_empty() {
            return Ok(GraphScope::root());
        }
        let path = reader.record(id).await?.map(|record| record.namespace).unwrap_or_default();
        Ok(Arc::new(GraphScope {
            names: self.scope.nodes.clone().into(),
            path,
            keeps_own: self.graph.persistence == Persistence::PerThread,
            ..GraphScope::default()
        }))
    }

    pub(crate) async fn scoped_history(
        &self,
        reader: &Reader,
        head: Option<ThreadHead>,
    ) -> Result<Option<String>, RunError> {
        if self.scope.nodes.is_empty() {
            return Ok(None);
        }
        let newest = self.newest(reader, head).await?;
        let Some((id, _)) = newest else { return Ok(Some("\u{0}".into())) };
        Ok(reader.record(id).await?.map(|record| record.namespace))
    }
}

async fn parent_pointer(
    reader: &Reader,
    above: CheckpointId,
    name: String,
) -> Result<Option<Box<ParentPointer>>, RunError> {
    let Some(record) = reader.record(above).await? else { return Ok(None) };
    Ok(Some(Box::new(ParentPointer { id: above, record, name })))
}

/// The newest checkpoint of a subgraph, seen from one above it.
struct SubgraphTip {
    at: CheckpointId,
    caller: Option<Caller>,
    /// The name that its state is stored under, if it has state of its own.
    name: String,
    /// The number of nodes on the way to it.
    steps: usize,
}

impl Reader {
    /// Returns the newest checkpoint of the first subgraph on this way that a task runs, or that has state of its own.
    async fn subgraph_tip(&self, at: CheckpointId, way: &[Vec<String>]) -> Result<Option<SubgraphTip>, RunError> {
        let (Some(record), Some(names)) = (self.record(at).await?, way.first()) else { return Ok(None) };
        let shape = self.shape(&record).await?;
        let of_node = |(task, ..): &ChildPointer| {
            let sent = task.checked_sub(SENT).and_then(|place| record.control.sends.get(place as usize));
            let ran = if *task < COMMAND_KEY { Some(*task) } else { sent.map(|send| send.node) };
            ran.and_then(|at| shape.nodes.get(at as usize)).is_some_and(|name| names.contains(name))
        };
        let called: Vec<ChildPointer> = self.children(at).await?.into_iter().filter(of_node).collect();
        if let Some((task, call, id)) = self.active_child(&self.tasks(at).await?, called).await? {
            let caller = Some(Caller { checkpoint: at, task, call });
            return Ok(Some(SubgraphTip { at: id, caller, name: String::new(), steps: 1 }));
        }
        let own = |steps: usize| {
            let (name, at) = record.children.iter().find(|(name, _)| leads_along(name, &way[..steps]))?;
            Some(SubgraphTip { at: *at, caller: None, name: name.clone(), steps })
        };
        Ok((1..=way.len()).find_map(own))
    }
}

/// Returns true if the state of a subgraph at the end of this way may be stored under this name.
fn leads_along(name: &str, way: &[Vec<String>]) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    parts.len() == way.len() && parts.iter().zip(way).all(|(part, names)| names.iter().any(|name| name == part))
}

impl ScopedRun {
    /// Plans the tasks and restores their records.
    pub(crate) async fn restore(&mut self) -> Result<(), RunError> {
        let run = &mut self.run;
        let Some((reader, mapping)) = &self.loaded else { return Ok(()) };
        let mut records = reader.tasks(run.pos.meta.id).await?;
        let (table, path) = (Arc::clone(&run.table), run.scope.path.clone());
        reader.apply_stored_command(&table, &mut run.pos, &path, &mut records, mapping).await?;
        run.step.planned = false;
        run.plan();
        reader.restore(&table, &path, &mut run.step.tasks, records, mapping).await?;
        run.pos.channels.pending_rewrites.extend(mapping.take_rewrites());
        run.keep_children(reader, mapping).await
    }

    /// Returns true if the writes for a planned task may be stored as its result.
    pub(crate) fn notes_results(&self) -> bool {
        self.is_head && self.loaded.as_ref().is_none_or(|(_, mapping)| mapping.is_same())
    }

    /// Fails if a planned task would be lost.
    pub(crate) fn check_planned(&self) -> Result<(), RunError> {
        self.loaded.as_ref().map_or(Ok(()), |(reader, mapping)| mapping.check(reader))
    }

    /// Fails if a result of a finished task would be lost.
    pub(crate) fn check_results(&self) -> Result<(), RunError> {
        self.loaded.as_ref().map_or(Ok(()), |(reader, mapping)| mapping.check_results(reader))
    }

    pub(crate) async fn checkpoint(&mut self, source: Source, puts: Puts) -> Result<(), RunError> {
        self.run.checkpoint(source, puts).await
    }

    /// Stores the position as the checkpoint that was entered already.
    pub(crate) async fn commit(&mut self, puts: Puts) -> Result<(), RunError> {
        let Some(recorder) = self.run.recorder().cloned() else { return Ok(()) };
        let mut puts = puts;
        self.run.save_checkpoint(&recorder, &mut puts)?;
        let head = self.run.is_root().then_some(self.run.pos.meta.id);
        recorder.commit(puts, head).await?;
        Ok(())
    }
}

impl Checkpoints {
    /// Limits the stream to the checkpoints of one subgraph.
    pub(crate) fn of(mut self, namespace: Option<String>) -> Self {
        self.namespace = namespace;
        self
    }
}

type ReaderMapping = (Reader, Mapping);
