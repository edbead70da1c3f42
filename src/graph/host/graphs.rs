//! [`Graphs`]: named graphs without their types, with the store and the clock of their threads. The one place where the
//! types of a whole graph are erased.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_base::time::system_time;

use crate::checkpoint::{Checkpointer, ThreadId, similar_threads};
use crate::graph::build::CompiledGraph;
use crate::graph::context::{AnyContext, DefaultContext};
use crate::graph::error::RunError;
use crate::graph::interrupt::{HumanQuestion, QuestionForm};
use crate::graph::node::{Name, NodeId};
use crate::graph::records::{Clock, Host};
use crate::graph::state::{AnyState, State};
use crate::graph::thread::{Thread, ThreadCore, ThreadFilter, ThreadInfo, ThreadPage};
use crate::memory::Store;

/// A thread of a graph whose types are not known: the states that it reads are [`AnyState`]s, its nodes are [`Name`]s.
///
/// [`Thread::graph`] has the schema by which a state becomes JSON ([`StateSnapshot::json`](crate::graph::StateSnapshot)),
/// and JSON an input or an update ([`CompiledGraph::input`]). [`AnyState::downcast_ref`] returns a state with its type.
pub type AnyThread = Thread<AnyState, Name, OwnContext>;

/// The context of a graph whose types are not known. No value has this type: the context is given when the graph is
/// registered, with [`AnyGraph::with`].
#[derive(Clone, Copy, Debug)]
pub enum OwnContext {}

/// Reads the context of a run from JSON, for hosts that get one with a request.
#[derive(Clone, Copy, Debug)]
pub struct ContextReader(fn(&Value) -> Result<AnyContext, serde_json::Error>);

impl ContextReader {
    /// Returns a reader of contexts of this type.
    #[must_use]
    pub fn of<C: DeserializeOwned + Send + Sync + 'static>() -> Self {
        Self(|json| Ok(Arc::new(C::deserialize(json)?)))
    }
}

/// A graph without its types, with the context that its threads run with.
#[derive(Clone)]
pub struct AnyGraph {
    graph: CompiledGraph<AnyState, Name, OwnContext>,
    context: AnyContext,
    reader: Option<ContextReader>,
    host: Host,
    /// The forms of its questions.
    forms: Vec<QuestionForm>,
    about: Option<Arc<str>>,
    answered_by_people: bool,
}

impl fmt::Debug for AnyGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyGraph").field(&self.name()).finish()
    }
}

impl AnyGraph {
    /// Returns a graph whose threads run with this context.
    pub fn with<S: State, N: NodeId, C: Send + Sync + 'static>(
        graph: CompiledGraph<S, N, C>,
        context: impl Into<Arc<C>>,
    ) -> Self {
        let (graph, context) = (CompiledGraph::of(graph.core), context.into());
        Self {
            graph,
            context,
            reader: None,
            host: Host::default(),
            forms: vec![],
            about: None,
            answered_by_people: false,
        }
    }

    /// Lets hosts give the context of a run as JSON: the reader is one of the graph's context.
    #[must_use]
    pub fn with_context_reader(mut self, reader: ContextReader) -> Self {
        self.reader = Some(reader);
        self
    }

    /// Returns the graph with the context that a value of JSON stands for, in the place of its own. A graph without a
    /// [reader](Self::with_context_reader) keeps its own.
    ///
    /// # Errors
    /// [`RunError::InvalidConfig`] if the value is no context of the graph.
    pub fn with_json_context(&self, json: &Value) -> Result<Self, RunError> {
        let Some(reader) = &self.reader else { return Ok(self.clone()) };
        let invalid = |error: serde_json::Error| RunError::InvalidConfig {
            what: format!("the context is none of the graph `{}`: {error}", self.name()),
        };
        Ok(Self { context: (reader.0)(json).map_err(invalid)?, ..self.clone() })
    }

    /// Describes the graph in a sentence, for clients that choose one.
    #[must_use]
    pub fn with_about(mut self, text: impl Into<Arc<str>>) -> Self {
        self.about = Some(text.into());
        self
    }

    /// Returns the graph in a sentence; `None` if that was not declared.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// Keeps the questions of the graph from programs that start its runs by themselves, such as coding agents: only people answer.
    #[must_use]
    pub fn answered_by_people(mut self) -> Self {
        self.answered_by_people = true;
        self
    }

    /// Returns whether only people answer the questions of the graph.
    pub fn is_answered_by_people(&self) -> bool {
        self.answered_by_people
    }

    /// Declares how people see and answer a question of the graph, whose state is `S`.
    #[must_use]
    pub fn question<S: State, Q: HumanQuestion<S>>(self) -> Self {
        self.with_form(QuestionForm::of::<S, Q>())
    }

    /// Declares how people see and answer a question of the graph.
    #[must_use]
    pub fn with_form(mut self, form: QuestionForm) -> Self {
        self.forms.push(form);
        self
    }

    /// Returns how people see and answer a question; `None` if that was not declared.
    pub fn form(&self, question: &str) -> Option<&QuestionForm> {
        self.forms.iter().find(|form| form.name() == question)
    }

    /// Returns a thread of the graph. Nothing is read or claimed yet.
    pub fn thread(&self, id: impl Into<ThreadId>) -> AnyThread {
        let mut core = ThreadCore::new(self.graph.core.clone(), Some(id.into()), Arc::clone(&self.context));
        core.environment.host = self.host.clone();
        Thread::of(core)
    }

    /// Returns the store of the graph's threads.
    pub fn checkpointer(&self) -> Option<&Arc<dyn Checkpointer>> {
        self.graph.core.store.as_ref()
    }

    /// Keeps the graph's threads in a shared store.
    #[must_use]
    pub fn with_shared_checkpointer(mut self, store: Arc<dyn Checkpointer>) -> Self {
        self.graph = self.graph.with_shared_checkpointer(store);
        self
    }

    /// Sets the long-term store of the graph's nodes.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.graph = self.graph.with_store(store);
        self
    }

    /// Sets the name under which the graph's threads are listed.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.graph = self.graph.named(name);
        self
    }
}

impl Deref for AnyGraph {
    type Target = CompiledGraph<AnyState, Name, OwnContext>;

    fn deref(&self) -> &Self::Target {
        &self.graph
    }
}

impl<S: State, N: NodeId, C: DefaultContext + Send + Sync + 'static> From<CompiledGraph<S, N, C>> for AnyGraph {
    fn from(graph: CompiledGraph<S, N, C>) -> Self {
        Self::with(graph, C::default_context())
    }
}

/// Graphs by name, without their types: what a host of graphs takes, such as a [`runner`](crate::graph::runner()), a command
/// line or a server. It reads and writes JSON and names, and needs none of their types.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep::graph::{Graphs, Request};
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { topic: String, #[channel(add)] runs: u32 }
/// # #[derive(NodeId)] enum Step { Write }
/// # async fn write(_: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> { Ok(Draft::update().runs(1)) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let graph = StateGraph::new().add_node(Step::Write, write).add_sequence([Step::Write]).compile()?;
/// let graphs = Graphs::new().with(graph.named("draft")).with_checkpointer(MemoryCheckpointer::new());
/// let graph = graphs.get("draft")?;
/// let input = graph.input(&serde_json::json!({"topic": "tides"}))?;
/// graph.thread("a").run(Request::input(input)).await?;
///
/// let thread = graphs.thread("a").await?; // of whichever graph it is
/// let now = thread.state().await?.expect("it ran");
/// assert_eq!(now.json(thread.graph().schema()), serde_json::json!({"topic": "tides", "runs": 1}));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Graphs {
    graphs: Vec<AnyGraph>,
}

impl Graphs {
    /// Returns a registry without graphs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a graph. Of several with the same name, the first one is found.
    #[must_use]
    pub fn with(mut self, graph: impl Into<AnyGraph>) -> Self {
        self.graphs.push(graph.into());
        self
    }

    /// Keeps the threads of all graphs that were added in a store.
    #[must_use]
    pub fn with_checkpointer(self, store: impl Checkpointer) -> Self {
        self.with_shared_checkpointer(Arc::new(store))
    }

    /// Keeps the threads of all graphs that were added in a shared store.
    #[must_use]
    pub fn with_shared_checkpointer(self, store: Arc<dyn Checkpointer>) -> Self {
        self.map(|graph| graph.with_shared_checkpointer(Arc::clone(&store)))
    }

    /// Sets the long-term store of the nodes of all graphs that were added.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn Store>) -> Self {
        self.map(|graph| graph.with_store(Arc::clone(&store)))
    }

    /// Replaces the machine's clock for the threads of all graphs that were added.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(clock);
        self.map(|mut graph| {
            graph.host.clock = Some(Arc::clone(&clock));
            graph
        })
    }

    fn map(self, map: impl FnMut(AnyGraph) -> AnyGraph) -> Self {
        Self { graphs: self.graphs.into_iter().map(map).collect() }
    }

    /// Returns the graphs, in the order in which they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, AnyGraph> {
        self.graphs.iter()
    }

    /// Returns a graph by its name.
    ///
    /// # Errors
    /// [`RunError::UnknownGraph`], with similar names.
    pub fn get(&self, name: &str) -> Result<&AnyGraph, RunError> {
        let graph = self.iter().find(|graph| graph.name() == name);
        graph.ok_or_else(|| self.unknown_graph(name, None))
    }

    fn unknown_graph(&self, name: &str, thread: Option<ThreadId>) -> RunError {
        RunError::unknown_graph(name, thread, self.iter().map(|graph| graph.name()))
    }

    /// Returns a stored thread, over the graph that it belongs to.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`]; [`RunError::UnknownGraph`] if its graph is not one of these; if a store cannot be read.
    pub async fn thread(&self, id: impl Into<ThreadId>) -> Result<AnyThread, RunError> {
        let id = id.into();
        let mut near = vec![];
        for store in self.stores()? {
            if let Some(info) = ThreadInfo::read_at(&*store, &id, self.now(&store)).await? {
                return Ok(self.graph_of(&info, &store)?.thread(id));
            }
            near.extend(similar_threads(&*store, &id).await);
        }
        Err(RunError::UnknownThread { thread: id, near })
    }

    /// Returns the graph of a thread that is kept in this store.
    ///
    /// # Errors
    /// [`RunError::UnknownGraph`].
    pub fn graph_of(&self, info: &ThreadInfo, store: &Arc<dyn Checkpointer>) -> Result<&AnyGraph, RunError> {
        let graph = self.over(store).find(|graph| graph.name() == info.graph);
        graph.ok_or_else(|| self.unknown_graph(&info.graph, Some(info.id.clone())))
    }

    /// Returns the graphs whose threads are kept in this store.
    pub(crate) fn over<'a>(&'a self, store: &Arc<dyn Checkpointer>) -> impl Iterator<Item = &'a AnyGraph> {
        let keeps = move |graph: &&AnyGraph| graph.checkpointer().is_some_and(|own| Arc::ptr_eq(own, store));
        self.iter().filter(keeps)
    }

    /// Returns a page of the threads of a store, as of the time of the registry's clock.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`]; if the store cannot be read. Threads of other graphs are listed too.
    pub async fn threads(&self, filter: ThreadFilter) -> Result<ThreadPage, RunError> {
        let store = self.stores()?.into_iter().next().ok_or(RunError::NoCheckpointer { what: "listing threads" })?;
        filter.at(self.now(&store)).page(&*store).await
    }

    /// Returns the stores of the graphs, each once.
    ///
    /// # Errors
    /// [`RunError::NoCheckpointer`] if a graph has none.
    pub fn stores(&self) -> Result<Vec<Arc<dyn Checkpointer>>, RunError> {
        self.stores_for("a host of graphs")
    }

    /// Returns the stores of the graphs; `what` needs them, in the error of a graph without one.
    pub(crate) fn stores_for(&self, what: &'static str) -> Result<Vec<Arc<dyn Checkpointer>>, RunError> {
        let mut stores: Vec<Arc<dyn Checkpointer>> = vec![];
        for graph in self.iter() {
            let store = graph.checkpointer().ok_or(RunError::NoCheckpointer { what })?;
            if !stores.iter().any(|known| Arc::ptr_eq(known, store)) {
                stores.push(Arc::clone(store));
            }
        }
        Ok(stores)
    }

    /// Returns the time by the registry's clock, or that of a store.
    fn now(&self, store: &Arc<dyn Checkpointer>) -> SystemTime {
        let host = self.graphs.first().map(|graph| graph.host.clone()).unwrap_or_default();
        system_time(host.over(Some(store)).now())
    }
}

impl IntoIterator for Graphs {
    type Item = AnyGraph;
    type IntoIter = std::vec::IntoIter<AnyGraph>;

    fn into_iter(self) -> Self::IntoIter {
        self.graphs.into_iter()
    }
}

impl<'a> IntoIterator for &'a Graphs {
    type Item = &'a AnyGraph;
    type IntoIter = std::slice::Iter<'a, AnyGraph>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<G: Into<AnyGraph>> FromIterator<G> for Graphs {
    fn from_iter<I: IntoIterator<Item = G>>(graphs: I) -> Self {
        Self { graphs: graphs.into_iter().map(Into::into).collect() }
    }
}
