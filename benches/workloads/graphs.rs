//! The graphs of several workloads: a chain, a loop, a fan-out. Knows only the public API.

use std::sync::Arc;

use superstep::graph::state::Kind;
use superstep::graph::{DataSchema, DataState, Name, Node};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) text: String,
    #[channel(add)]
    pub(crate) count: u64,
    #[channel(append)]
    pub(crate) seen: Vec<u64>,
    pub(crate) other: Vec<String>,
}

pub(crate) async fn count(_: Arc<Tally>, _: Ctx) -> Result<TallyUpdate, NodeError> {
    Ok(Tally::update().count(1u64))
}

pub(crate) async fn nothing(_: Arc<Tally>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

pub(crate) async fn three(_: Arc<Tally>, _: Ctx) -> Result<TallyUpdate, NodeError> {
    Ok(Tally::update().count(1u64).text("x").seen(vec![1]))
}

/// Returns a chain of nodes with the same body.
pub(crate) fn chain<S: State>(
    schema: S::Schema,
    nodes: u64,
    body: impl Node<S, Name, ()> + Clone,
) -> CompiledGraph<S, Name> {
    let id = |nth: u64| Name::from(format!("n{nth:04}"));
    let mut graph = StateGraph::with_schema(schema).add_edge(START, id(0));
    for nth in 0..nodes {
        graph = graph.add_node(id(nth), body.clone());
    }
    for nth in 1..nodes {
        graph = graph.add_edge(id(nth - 1), id(nth));
    }
    graph.compile().unwrap()
}

pub(crate) fn tally_chain(nodes: u64) -> CompiledGraph<Tally, Name> {
    chain((), nodes, count)
}

/// Returns a chain over a state with three channels defined by data.
pub(crate) fn data_chain(nodes: u64) -> CompiledGraph<DataState, Name> {
    let schema = DataSchema::new([("text", Kind::LastValue), ("count", Kind::Add), ("seen", Kind::Append)]).unwrap();
    let write = schema.write("count", serde_json::json!(1)).unwrap();
    let body = move |_: Arc<DataState>, _: Ctx| {
        let write = write.clone();
        async move { Ok::<_, NodeError>(Writes::<DataState>(vec![write])) }
    };
    chain(schema, nodes, body)
}

#[derive(NodeId)]
pub(crate) enum Two {
    Ping,
    Pong,
}

#[derive(Route)]
enum Again {
    #[to(Two::Ping)]
    Yes,
    #[to(END)]
    No,
}

/// Returns two nodes and a router, for this many rounds of both.
pub(crate) fn two_node_loop(rounds: u64) -> CompiledGraph<Tally, Two> {
    StateGraph::new()
        .add_node(Two::Ping, count)
        .add_node(Two::Pong, count)
        .add_edge(START, Two::Ping)
        .add_edge(Two::Ping, Two::Pong)
        .add_conditional_edges(
            Two::Pong,
            move |tally: &Tally| if tally.count < 2 * rounds { Again::Yes } else { Again::No },
        )
        .compile()
        .unwrap()
}

#[derive(NodeId)]
pub(crate) enum Map {
    Split,
    Fetch,
    Sum,
}

#[derive(Serialize, Deserialize, Default)]
pub(crate) struct Page(pub(crate) u64);

pub(crate) const FETCH: Worker<Map, Page> = Worker::new(Map::Fetch);

#[derive(Labels)]
pub(crate) enum AfterSplit {
    Pages(Vec<Page>),
}

impl AfterSplit {
    /// One send per worker.
    pub(crate) fn workers(width: u64) -> Self {
        Self::Pages((0..width).map(Page).collect())
    }
}

impl Route<Map> for AfterSplit {
    fn target(self) -> Target<Map> {
        let Self::Pages(pages) = self;
        FETCH.each(pages).into()
    }
}

/// Returns one send per worker, and a join after them. A worker that `suspends` is pending at its first poll.
pub(crate) fn fan_out(width: u64, suspends: bool) -> CompiledGraph<Tally, Map> {
    let fetch = move |page: Arc<Page>, _: Ctx| async move {
        if suspends {
            tokio::task::yield_now().await;
        }
        Ok::<_, NodeError>(Tally::update().count(page.0))
    };
    let split = move |_: &Tally| AfterSplit::workers(width);
    StateGraph::new()
        .add_node(Map::Split, nothing)
        .add_worker(FETCH, fetch)
        .add_node(Map::Sum, count)
        .add_edge(START, Map::Split)
        .add_conditional_edges(Map::Split, split)
        .add_edge(Map::Fetch, Map::Sum)
        .compile()
        .unwrap()
}
