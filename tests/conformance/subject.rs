//! The engine as the runner uses it: one method per action of a script, in the runner's own types. An engine is built
//! from a case's graphs and keeps its node cache for the whole case.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::counters::Counters;
use crate::model::Case;
use crate::outcome::{ErrorView, InvokeResult, Snapshot, StreamResult, Verification};
use crate::script::{Config, Mode};
use crate::targets::Goto;

/// A way of playing a case: on a store, or with other calls of the API. The default calls are those by which the engine
/// does exactly what LangGraph does: subgraphs are called from a body, a run is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Memory,
    Sled,
    /// Subgraphs are nodes between two functions: `mapped`. On the memory store, as all that follow.
    Mapped,
    /// Subgraphs over the same channels are nodes: `add_subgraph`.
    Added,
    /// The result of `invoke` is compared, not the events of a stream.
    Plain,
    /// The state is a struct.
    Typed,
}

impl Way {
    pub(crate) const ALL: [Self; 6] = [Self::Memory, Self::Sled, Self::Mapped, Self::Added, Self::Plain, Self::Typed];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sled => "sled",
            Self::Mapped => "mapped",
            Self::Added => "added",
            Self::Plain => "plain",
            Self::Typed => "typed",
        }
    }
}

/// The parameters of an engine. A case with `store: none` has no store at all, whatever `way` is.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) case: Arc<Case>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) way: Way,
}

/// The reason why an engine failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refusal {
    /// An error that a user would see: part of the outcome.
    Error(ErrorView),
    /// The case cannot be expressed, or the engine is broken: the case fails with this text.
    Broken(String),
}

impl From<ErrorView> for Refusal {
    fn from(error: ErrorView) -> Self {
        Self::Error(error)
    }
}

pub(crate) type Reply<T> = Result<T, Refusal>;

/// The place of an action.
#[derive(Debug, Clone)]
pub(crate) struct Place<P> {
    /// The graph's name in the case.
    pub(crate) graph: String,
    pub(crate) thread: String,
    /// A checkpoint instead of the latest one; of the root or of a subgraph.
    pub(crate) at: Option<P>,
}

/// The input of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    /// Null continues the thread.
    Values(Value),
    Command(RunCommand),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunCommand {
    pub(crate) resume: Option<Resume>,
    pub(crate) goto: Vec<Goto>,
    /// `None` for null too.
    pub(crate) update: Option<Value>,
    pub(crate) parent: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Resume {
    /// One answer, which may be null.
    One(Value),
    /// Answers by interrupt id, an engine's own or an unknown one.
    ById(Vec<(String, Value)>),
}

/// A selection of checkpoints of a history.
#[derive(Debug, Clone)]
pub(crate) struct Query<P> {
    pub(crate) limit: Option<usize>,
    pub(crate) before: Option<P>,
    /// `source` and `step` of a snapshot; see [`Query::keeps`].
    pub(crate) filter: Map<String, Value>,
}

impl<P> Query<P> {
    pub(crate) fn all() -> Self {
        Self { limit: None, before: None, filter: Map::new() }
    }

    /// Returns true if the filter accepts a snapshot.
    pub(crate) fn keeps(&self, snapshot: &Snapshot) -> bool {
        self.filter.iter().all(|(key, wanted)| match key.as_str() {
            "source" => snapshot.source.as_deref() == wanted.as_str(),
            "step" => snapshot.step == wanted.as_i64(),
            _ => false,
        })
    }
}

/// One checkpoint of a history.
#[derive(Debug, Clone)]
pub(crate) struct HistoryEntry<P> {
    pub(crate) point: P,
    pub(crate) parent: Option<P>,
    pub(crate) snapshot: Snapshot,
}

/// One external update. `as_node` is spelled as in the case: a node, `START`, `END`, `__input__`, `__copy__`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StateWrite {
    pub(crate) values: Value,
    pub(crate) as_node: Option<String>,
}

/// An engine with the graphs of one case on one store.
pub(crate) trait Engine: Sized {
    /// The address of a checkpoint: thread, subgraph, id. Valid after a restart.
    type Point: Clone + PartialEq;

    /// Opens the store and builds the main graph. `Refusal::Error` is the case's `build_error`.
    async fn open(setup: Setup) -> Reply<Self>;

    /// Drops everything in memory but the node cache, closes and reopens the store, builds the graphs again.
    async fn restart(&mut self) -> Reply<()>;

    /// Called before each action, for an engine's own diagnosis.
    fn begin(&mut self, _action: usize) {}

    /// Builds a graph that an action names, unless it was built; an error here is the outcome of the action.
    async fn build(&mut self, _graph: &str) -> Reply<()> {
        Ok(())
    }

    async fn invoke(&mut self, place: &Place<Self::Point>, input: Input, config: &Config) -> Reply<InvokeResult>;

    /// Returns the requested modes only; with events of subgraphs if `subgraphs`.
    async fn stream(
        &mut self,
        place: &Place<Self::Point>,
        input: Input,
        config: &Config,
        modes: &[Mode],
        subgraphs: bool,
    ) -> Reply<StreamResult>;

    /// Returns the snapshot and its address. Latest or `at`, see SPEC 6.2.
    async fn get_state(&mut self, place: &Place<Self::Point>, subgraphs: bool) -> Reply<(Snapshot, Self::Point)>;

    /// Newest first. With `at` in a subgraph, the checkpoints of that subgraph; with any other `at`, that one alone.
    async fn history(
        &mut self,
        place: &Place<Self::Point>,
        query: &Query<Self::Point>,
    ) -> Reply<Vec<HistoryEntry<Self::Point>>>;

    /// Returns the current checkpoint of the subgraph run by the pending task at the end of this path of node names, in
    /// the thread's latest state; `None` if there is no such task or it has no saved state.
    async fn subgraph(&mut self, place: &Place<Self::Point>, path: &[String]) -> Reply<Option<Self::Point>>;

    /// Returns the address of the checkpoint that the update made.
    async fn update(&mut self, place: &Place<Self::Point>, update: StateWrite) -> Reply<Self::Point>;

    /// Compares a thread with its present graph: nothing may differ, whatever the script did. `None` for a thread that
    /// never ran, or without a store.
    async fn verify(&mut self, place: &Place<Self::Point>) -> Reply<Option<Verification>>;

    async fn bulk_update(&mut self, place: &Place<Self::Point>, supersteps: Vec<Vec<StateWrite>>)
    -> Reply<Self::Point>;
}
