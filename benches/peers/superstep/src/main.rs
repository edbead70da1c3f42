//! The workloads on superstep.

#[path = "../../measure.rs"]
mod measure;

use std::sync::Arc;

use superstep::graph::state::Kind;
use superstep::graph::{DataSchema, DataState, Name, Node};
use superstep::prelude::*;
use tokio::task::JoinSet;

use self::measure::Bench;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Tally {
    #[channel(add)]
    count: u64,
}

async fn count(_: Arc<Tally>, _: Ctx) -> Result<TallyUpdate, NodeError> {
    Ok(Tally::update().count(1u64))
}

fn chain(nodes: u64) -> CompiledGraph<Tally, Name> {
    chain_of(nodes, count, ())
}

fn chain_of<S: State>(nodes: u64, body: impl Node<S, Name, ()> + Clone, schema: S::Schema) -> CompiledGraph<S, Name> {
    let id = |nth: u64| Name::from(format!("n{nth:04}"));
    let mut graph = StateGraph::with_schema(schema).add_edge(START, id(0));
    for nth in 0..nodes {
        graph = graph.add_node(id(nth), body.clone());
    }
    for nth in 1..nodes {
        graph = graph.add_edge(id(nth - 1), id(nth));
    }
    graph.compile().expect("a graph")
}

#[derive(NodeId)]
enum Two {
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

fn two_node_loop(rounds: u64) -> CompiledGraph<Tally, Two> {
    StateGraph::new()
        .add_node(Two::Ping, count)
        .add_node(Two::Pong, count)
        .add_edge(START, Two::Ping)
        .add_edge(Two::Ping, Two::Pong)
        .add_conditional_edges(Two::Pong, move |tally: &Tally| if tally.count < 2 * rounds { Again::Yes } else { Again::No })
        .compile()
        .expect("a graph")
}

#[derive(NodeId)]
enum Map {
    Split,
    Fetch,
    Sum,
}

#[derive(Serialize, Deserialize)]
struct Page(u64);

const FETCH: Worker<Map, Page> = Worker::new(Map::Fetch);

#[derive(Labels)]
enum AfterSplit {
    Pages(Vec<Page>),
}

impl Route<Map> for AfterSplit {
    fn target(self) -> Target<Map> {
        let Self::Pages(pages) = self;
        FETCH.each(pages).into()
    }
}

fn fan_out(width: u64) -> CompiledGraph<Tally, Map> {
    StateGraph::new()
        .add_node(Map::Split, async |_: Arc<Tally>, _: Ctx| Ok::<_, NodeError>(()))
        .add_worker(FETCH, async |page: Arc<Page>, _: Ctx| Ok::<_, NodeError>(Tally::update().count(page.0)))
        .add_node(Map::Sum, count)
        .add_edge(START, Map::Split)
        .add_conditional_edges(Map::Split, move |_: &Tally| AfterSplit::Pages((0..width).map(Page).collect()))
        .add_edge(Map::Fetch, Map::Sum)
        .compile()
        .expect("a graph")
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Wide {
    n: u64,
    blob: String,
}

/// Twenty supersteps that write one channel beside a large one.
fn wide() -> CompiledGraph<Wide, Name> {
    chain_of(20, async |wide: Arc<Wide>, _: Ctx| Ok::<_, NodeError>(Wide::update().n(wide.n + 1)), ())
}

/// Twenty supersteps that write one channel of many.
fn many(schema: &DataSchema) -> CompiledGraph<DataState, Name> {
    let write = schema.write("k1", "y".repeat(100).into()).expect("a channel");
    let body = move |_: Arc<DataState>, _: Ctx| {
        let write = write.clone();
        async move { Ok::<_, NodeError>(Writes::<DataState>(vec![write])) }
    };
    chain_of(20, body, schema.clone())
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    #[channel(append)]
    messages: Vec<String>,
}

fn talk() -> CompiledGraph<Talk, Name> {
    let reply = async |_: Arc<Talk>, _: Ctx| Ok::<_, NodeError>(Talk::update().messages(["m".repeat(1024)]));
    chain_of(1, reply, ())
}

fn main() {
    let bench = Bench::new();
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes);
        bench.measure(&format!("W1 chain {nodes}, no store"), nodes, async || (), async |(), _| {
            graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    let graph = two_node_loop(1000);
    bench.measure("W3 loop of 2 nodes and a router, no store", 2000, async || (), async |(), _| {
        graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
    });
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes);
        let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W2 chain {nodes}, memory"), nodes, stored, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width);
        bench.measure(&format!("W4 fan-out {width}, no store"), width, async || (), async |(), _| {
            graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width);
        let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W4 fan-out {width}, memory"), width, stored, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for kib in [1, 1024] {
        let graph = wide();
        let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W5 beside {kib} KiB, memory"), 20, stored, async |graph, nth| {
            let input = Wide::update().blob("x".repeat(kib << 10));
            graph.thread(format!("t{nth}")).invoke(input).await.expect("a run");
        });
    }
    let names = || (0..300).map(|nth| format!("k{nth}"));
    let schema = DataSchema::new(names().map(|name| (name, Kind::LastValue))).expect("a schema");
    let value = |name: String| schema.write(&name, "x".repeat(100).into()).expect("a channel");
    let (graph, input) = (many(&schema), Writes::<DataState>(names().map(value).collect()));
    let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure("W5 one of 300 fields, memory", 20, stored, async |graph, nth| {
        graph.thread(format!("t{nth}")).invoke(input.clone()).await.expect("a run");
    });
    let graph = talk();
    let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure("W6 1,000 turns of 1 KiB, memory", 1000, stored, async |graph, nth| {
        for _ in 0..1000 {
            graph.thread(format!("t{nth}")).invoke(Talk::update()).await.expect("a run");
        }
    });
    let graph = chain(10);
    let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure("W8 1,000 threads of 10, memory", 10_000, stored, async |graph, nth| {
        let mut running = JoinSet::new();
        for thread in 0..1000 {
            let thread = graph.thread(format!("t{nth}-{thread}"));
            running.spawn(async move { thread.invoke(Writes::default()).await.expect("a run").finished().is_some() });
        }
        while running.join_next().await.is_some() {}
    });
    let graph = chain(1000);
    let ended = async || {
        let graph = graph.clone().with_checkpointer(MemoryCheckpointer::new());
        graph.thread("t").invoke(Writes::default()).await.expect("a run");
        graph
    };
    bench.measure("W10 history of 1,000 checkpoints, memory", 1000, ended, async |graph, _| {
        graph.thread("t").history().await.expect("a history").all().await.expect("checkpoints");
    });
}
