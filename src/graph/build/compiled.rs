//! The compiled graph: its tables, and the store of its threads. Cheap to clone.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use superstep_base::gather;

use super::builder::Persistence;
use super::draw::{self, DrawOptions, Drawing};
use super::rows::declared_questions;
use super::table::{Stops, Table};
use super::{ascii, dot};
use crate::checkpoint::{Checkpointer, ThreadId};
use crate::graph::error::RunError;
use crate::graph::interrupt::{DeclaredQuestion, SignalType};
use crate::graph::node::{NodeId, Sends};
use crate::graph::records::{HANDLER, LastEnds, NodeCache};
use crate::graph::state::{Channel, InputError, State, Writes};
use crate::graph::view::AnyChild;
use crate::memory::Store;

/// A compiled graph, ready to run. Clones share the tables, so the same graph on another store costs nothing.
pub struct CompiledGraph<S: State, N, C = ()> {
    pub(crate) core: GraphCore,
    types: PhantomData<fn(S, N, C)>,
}

/// A compiled graph without its types.
#[derive(Clone)]
pub(crate) struct GraphCore {
    pub table: Arc<Table>,
    pub store: Option<Arc<dyn Checkpointer>>,
    pub cache: Option<Arc<dyn NodeCache>>,
    pub memory: Option<Arc<dyn Store>>,
    pub last_ends: Arc<LastEnds>,
    pub persistence: Persistence,
    pub name: Arc<str>,
    /// Limit of supersteps for a run of its threads.
    pub recursion: u64,
}

impl<S: State, N, C> Clone for CompiledGraph<S, N, C> {
    fn clone(&self) -> Self {
        Self::of(self.core.clone())
    }
}

impl<S: State, N, C> std::fmt::Debug for CompiledGraph<S, N, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CompiledGraph({}, {} nodes)", self.core.name, self.core.table.nodes.len())
    }
}

impl<S: State, N, C> CompiledGraph<S, N, C> {
    pub(crate) fn of(core: GraphCore) -> Self {
        Self { core, types: PhantomData }
    }
}

impl<S: State, N: NodeId, C: Send + Sync + 'static> CompiledGraph<S, N, C> {
    pub(crate) fn new(table: Table) -> Self {
        let name = table.identity.name.as_str().into();
        Self::of(GraphCore {
            table: Arc::new(table),
            store: None,
            cache: None,
            memory: None,
            last_ends: Arc::default(),
            persistence: Persistence::default(),
            name,
            recursion: RECURSION_LIMIT,
        })
    }

    /// Sets the name under which the graph's threads are listed.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.core.name = name.into();
        self
    }

    /// Sets the number of supersteps after which a run of the graph's threads fails, [`RECURSION_LIMIT`] unless set;
    /// [`Thread::recursion_limit`](crate::graph::Thread::recursion_limit) takes precedence. Use `u64::MAX` for a graph
    /// whose loops end by their own rules.
    #[must_use]
    pub fn recursion_limit(mut self, supersteps: u64) -> Self {
        self.core.recursion = supersteps;
        self
    }

    /// Keeps the graph's threads in a store.
    #[must_use]
    pub fn with_checkpointer(self, store: impl Checkpointer) -> Self {
        self.with_shared_checkpointer(Arc::new(store))
    }

    /// Keeps the graph's threads in a shared store. Threads of several graphs share one namespace.
    #[must_use]
    pub fn with_shared_checkpointer(mut self, store: Arc<dyn Checkpointer>) -> Self {
        (self.core.store, self.core.last_ends) = (Some(store), Arc::default());
        self
    }

    /// Sets the long-term store of the graph's nodes ([`Ctx::store`](crate::graph::Ctx::store)) and of those in its subgraphs;
    /// the one over the graph's checkpointer unless set. LangGraph: `compile(store=…)`.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.core.memory = Some(store);
        self
    }

    /// Returns the long-term store that was set for the graph.
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.core.memory.as_ref()
    }

    /// Caches the results of nodes with a [`CachePolicy`](crate::graph::CachePolicy). Several graphs may share a cache:
    /// results are keyed by the graph's name and [`fingerprint`](Self::fingerprint), the node, and the type of its body. A
    /// body that holds values, such as a closure with captures, shares results only between clones of one compiled graph,
    /// unless a [`key`](crate::graph::CachePolicy::key) identifies those values. Routers choose again.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<dyn NodeCache>) -> Self {
        self.core.cache = Some(cache);
        self
    }

    /// Sets the lifetime of the state when the graph runs as a subgraph: with `.add_subgraph(Step::Chat,
    /// chat.persistence(Persistence::PerThread))` it keeps a memory of its own.
    #[must_use]
    pub fn persistence(mut self, persistence: Persistence) -> Self {
        self.core.persistence = persistence;
        self
    }

    /// Returns the schema of the state.
    pub fn schema(&self) -> &S::Schema {
        self.core.table.schema.of_type()
    }

    /// Returns the channels of the state.
    pub fn channels(&self) -> &[Channel] {
        S::channels(self.schema())
    }

    /// Returns the input or update that an object of JSON stands for: a key for each channel that is written; see
    /// [`Writes::from_json`].
    ///
    /// # Errors
    /// [`InputError`] for a value that is no object, an unknown key, or a value of the wrong type.
    pub fn input(&self, json: &serde_json::Value) -> Result<Writes<S>, InputError> {
        Writes::from_json(self.schema(), json)
    }

    /// Returns the graph's name.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// Returns the names of the nodes, in the order in which their results are applied.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.core.table.nodes.iter().map(|row| &*row.name)
    }

    /// Returns the id of the node with this name.
    pub fn node(&self, name: &str) -> Option<N> {
        self.core.table.node_index(name).and_then(|_| N::of_name(name))
    }

    /// Returns the send of a worker with a payload that is written as JSON; `None` for a node that takes no payload.
    ///
    /// # Errors
    /// If the payload does not fit the worker's type.
    pub fn send_json(&self, node: &str, payload: &serde_json::Value) -> Option<serde_json::Result<Sends<N>>> {
        let body = &self.core.table.row(self.core.table.node_index(node)?).body;
        let (takes, type_name) = body.payload_type()?;
        let node = self.node(node)?;
        let send = |payload| Sends { node, takes, type_name, payloads: vec![payload], empty: None };
        Some(body.payload_of_json(payload)?.map(send))
    }

    /// Returns true if the graph has breakpoints: `interrupt_before`, `interrupt_after`.
    pub fn has_breakpoints(&self) -> bool {
        !matches!((&self.core.table.stops.before, &self.core.table.stops.after), (Stops::None, Stops::None))
    }

    /// Returns the questions declared by nodes, here and in subgraphs: the name, and the name of the question's type.
    pub fn questions(&self) -> Vec<(&'static str, &'static str)> {
        let mut questions: Vec<_> = self.core.table.nodes.iter().flat_map(declared_questions).collect();
        questions.sort_unstable();
        questions.dedup();
        questions
    }

    /// Returns the declared edges: source, target and the outcome's name; the virtual nodes are `START` and `END`.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let outline = &self.core.table.outline;
        let name = move |at: Option<usize>, none| at.map_or(none, |at| outline.nodes[at].name.as_str());
        let edges = outline.edges.iter();
        let edges = edges.map(move |edge| (name(edge.from, "START"), name(edge.to, "END"), edge.label.as_str()));
        let joins = outline.joins.iter().flat_map(move |(sources, target)| {
            sources.iter().map(move |&source| (name(Some(source), ""), name(Some(*target), ""), "join"))
        });
        edges.chain(joins)
    }

    /// Returns the hash that identifies this version of the graph: its channels (name, type, version, rule), nodes, joins,
    /// renames, and [`version`](crate::graph::StateGraph::version). Stored in each checkpoint; the same on every machine.
    pub fn fingerprint(&self) -> u64 {
        self.core.table.identity.fingerprint
    }

    /// Returns the version that the graph [declares](crate::graph::StateGraph::version); 0 unless it does.
    pub fn version(&self) -> u32 {
        self.core.table.identity.shape.version
    }

    /// Returns the names of up to `limit` threads after `after`.
    ///
    /// # Errors
    /// If there is no store, or it cannot be read.
    pub async fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Result<Vec<ThreadId>, RunError> {
        let store = self.core.store.as_ref().ok_or(RunError::NoCheckpointer { what: "listing threads" })?;
        Ok(store.threads(after, limit).await?)
    }

    /// Returns the nodes that blocked their thread for more than 100 ms without awaiting, each with the longest time.
    /// Measured in runs of this process that are observed ([`Thread::stream`](crate::graph::Thread::stream), or a `tracing`
    /// subscriber that takes warnings). Make them [`blocking`](crate::graph::blocking()) nodes: until such a node awaits,
    /// no other task on its thread runs, and no timeout or cancellation reaches it.
    pub fn blocking_nodes(&self) -> Vec<(String, Duration)> {
        let rows = self.core.table.nodes.iter();
        rows.filter_map(|row| Some((row.name.to_string(), row.execution.longest.get()?))).collect()
    }

    /// Returns the graph as a mermaid flowchart of its declared edges, with `depth` levels of subgraphs expanded; 0 draws
    /// each as one node. Routers are labelled by their outcomes. LangGraph: `get_graph(xray=depth).draw_mermaid()`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// # #[derive(NodeId)] enum Step { Write }
    /// # async fn write(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> { Ok(()) }
    /// let graph = StateGraph::<Draft, Step>::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()?;
    /// assert!(graph.mermaid(0).starts_with("flowchart TD"));
    /// # Ok::<(), CompileError>(())
    /// ```
    pub fn mermaid(&self, depth: usize) -> String {
        self.core.draw(&DrawOptions { expand: depth, ..DrawOptions::default() })
    }

    /// Returns the graph in Graphviz' DOT language, with `depth` levels of subgraphs expanded.
    pub fn dot(&self, depth: usize) -> String {
        dot::dot(&self.core.drawing(), &DrawOptions { expand: depth, ..DrawOptions::default() })
    }

    /// Returns the graph as plain text: a line for each edge of a node, with `depth` levels of subgraphs expanded.
    pub fn ascii(&self, depth: usize) -> String {
        ascii::ascii(&self.core.drawing(), &DrawOptions { expand: depth, ..DrawOptions::default() })
    }
}

impl GraphCore {
    pub(crate) fn draw(&self, options: &DrawOptions) -> String {
        draw::mermaid(&self.drawing(), options)
    }

    pub(crate) fn drawing(&self) -> Drawing<'_> {
        let children = self.table.nodes.iter().enumerate();
        let children =
            children.filter_map(|(at, row)| row.children.first().map(|child| (at, drawing_of(child)))).collect();
        Drawing { outline: &self.table.outline, children }
    }
}

fn drawing_of(child: &AnyChild) -> Drawing<'_> {
    let inside = &child.0;
    let outline = inside.outline();
    let nodes = outline.nodes.iter().enumerate();
    let children = nodes
        .filter_map(|(at, node)| inside.children(&node.name).first().map(|child| (at, drawing_of(child))))
        .collect();
    Drawing { outline, children }
}

impl<S: State, N: NodeId, C> CompiledGraph<S, N, C> {
    /// Returns the names of the signals that nodes declare, those of subgraphs included.
    pub fn signals(&self) -> impl Iterator<Item = &'static str> {
        self.core.table.signals().into_iter()
    }

    /// Returns the shape of a signal's value, for people; none if no node receives it.
    pub fn signal_shape(&self, signal: &str) -> Option<String> {
        self.core.table.declared_signal(signal).map(|receives| (receives.shape)())
    }
}

impl Table {
    /// Returns the declaration of a question, here or in a subgraph.
    pub(crate) fn asks(&self, question: &str) -> Option<DeclaredQuestion> {
        let own = self.nodes.iter().find_map(|row| row.options.declared.asks.get(question)?.first().copied());
        let mut children = self.nodes.iter().flat_map(|row| &row.children);
        own.or_else(|| children.find_map(|child| child.0.asks(question)))
    }

    /// Returns the declaration of a signal, here or in a subgraph.
    pub(crate) fn declared_signal(&self, signal: &str) -> Option<SignalType> {
        let own = self.nodes.iter().find_map(|row| row.options.declared.receives.get(signal).copied());
        let mut children = self.nodes.iter().flat_map(|row| &row.children);
        own.or_else(|| children.find_map(|child| child.0.receives(signal)))
    }

    /// Returns true if a node declares a question or a signal, here or in a subgraph.
    pub(crate) fn declares_waits(&self) -> bool {
        self.questions.declared || !self.signals().is_empty()
    }

    pub(crate) fn signals(&self) -> BTreeSet<&'static str> {
        let own = self.nodes.iter().flat_map(|row| row.options.declared.receives.keys().copied());
        let children = self.nodes.iter().flat_map(|row| &row.children);
        gather(own.chain(children.flat_map(|child| child.0.signals())))
    }

    /// Returns a node's declaration of a question; `namespace` leads down to the node's subgraph.
    pub(crate) fn asked(&self, namespace: &[String], node: &str, question: &str) -> Option<DeclaredQuestion> {
        let Some((first, rest)) = namespace.split_first() else {
            let row = self.row(self.now(node.strip_prefix(HANDLER).unwrap_or(node))?);
            return row.options.declared.asks.get(question)?.first().copied();
        };
        let calls = rest.iter().take_while(|name| name.starts_with('#')).count();
        let row = self.row(self.now(first.strip_prefix(HANDLER).unwrap_or(first))?);
        row.children.iter().find_map(|child| child.0.asked(&rest[calls..], node, question))
    }
}

/// The default recursion limit, in supersteps.
pub const RECURSION_LIMIT: u64 = 10_000;
