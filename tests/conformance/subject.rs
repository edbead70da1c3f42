//! What the runner asks of an engine: one method per action of a script, in the runner's own types. An engine is built
//! from a case's graphs and keeps, for the whole case, its node cache.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::counters::Counters;
use crate::model::Case;
use crate::outcome::{ErrorView, Ran, Snapshot, Streamed, Verification};
use crate::script::{Config, Mode};
use crate::targets::Goto;

/// A way of playing a case: on a store, or with other calls of the API than usual. The usual ones are those by which the
/// engine does just what LangGraph does: subgraphs are called from a body, a run is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Memory,
    Sled,
    /// Subgraphs are nodes between two functions: `mapped`. On the memory store, as all that follow.
    Mapped,
    /// Subgraphs over the same channels are nodes: `add_subgraph`.
    Added,
    /// `invoke` returns what is compared, instead of the events of a stream.
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

/// What an engine is opened with. A case with `store: none` has no store at all, whatever `way` says.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) case: Arc<Case>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) way: Way,
}

/// Why an engine did not do what it was asked.
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

pub(crate) type Answered<T> = Result<T, Refusal>;

/// Where an action takes place.
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
    /// `None` for null, too.
    pub(crate) update: Option<Value>,
    pub(crate) parent: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Resume {
    /// One answer, which may be null.
    One(Value),
    /// Answers by interrupt id, an engine's own or one that fits nothing.
    ById(Vec<(String, Value)>),
}

/// Which checkpoints of a history.
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

    /// Whether the filter lets a snapshot through.
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
pub(crate) struct Listed<P> {
    pub(crate) point: P,
    pub(crate) parent: Option<P>,
    pub(crate) snapshot: Snapshot,
}

/// One update by hand. `as_node` is as the case spells it: a node, `START`, `END`, `__input__`, `__copy__`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ByHand {
    pub(crate) values: Value,
    pub(crate) as_node: Option<String>,
}

/// An engine with the graphs of one case on one store.
pub(crate) trait Engine: Sized {
    /// The address of a checkpoint: thread, subgraph, id. Stays good over a restart.
    type Point: Clone + PartialEq;

    /// Opens the store and builds the main graph. `Refusal::Error` is the case's `build_error`.
    async fn open(setup: Setup) -> Answered<Self>;

    /// Drops everything in memory but the node cache, closes and reopens the store, builds the graphs again.
    async fn restart(&mut self) -> Answered<()>;

    /// The script comes to this action. For an engine's own diagnosis.
    fn begin(&mut self, _action: usize) {}

    /// Builds a graph that an action names, unless it was built; an error here is the outcome of the action.
    async fn build(&mut self, _graph: &str) -> Answered<()> {
        Ok(())
    }

    async fn invoke(&mut self, place: &Place<Self::Point>, input: Input, config: &Config) -> Answered<Ran>;

    /// Only the modes that were asked for; events of subgraphs when `subgraphs`.
    async fn stream(
        &mut self,
        place: &Place<Self::Point>,
        input: Input,
        config: &Config,
        modes: &[Mode],
        subgraphs: bool,
    ) -> Answered<Streamed>;

    /// The snapshot and its address. Latest or `at`, see SPEC 6.2.
    async fn get_state(&mut self, place: &Place<Self::Point>, subgraphs: bool) -> Answered<(Snapshot, Self::Point)>;

    /// Newest first. With `at` in a subgraph, the checkpoints of that subgraph; with any other `at`, that one alone.
    async fn history(
        &mut self,
        place: &Place<Self::Point>,
        query: &Query<Self::Point>,
    ) -> Answered<Vec<Listed<Self::Point>>>;

    /// The current checkpoint of the subgraph run by the pending task at the end of this path of node names, in the
    /// thread's latest state; `None` if there is no such task or it has no saved state.
    async fn subgraph(&mut self, place: &Place<Self::Point>, path: &[String]) -> Answered<Option<Self::Point>>;

    /// The address of the checkpoint that the update made.
    async fn update(&mut self, place: &Place<Self::Point>, update: ByHand) -> Answered<Self::Point>;

    /// How a thread compares with what its graph does now: nothing may differ, whatever the script did. None for a thread that
    /// never ran, or without a store.
    async fn verify(&mut self, place: &Place<Self::Point>) -> Answered<Option<Verification>>;

    async fn bulk_update(&mut self, place: &Place<Self::Point>, supersteps: Vec<Vec<ByHand>>) -> Answered<Self::Point>;
}
