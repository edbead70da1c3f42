//! The workloads on superstep.

#[path = "../../measure.rs"]
mod measure;

use std::sync::Arc;

use superstep::prelude::*;

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
    let id = |nth: u64| Name::from(format!("n{nth:04}"));
    let mut graph = StateGraph::new().add_edge(START, id(0));
    for nth in 0..nodes {
        graph = graph.add_node(id(nth), count);
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

fn main() {
    let bench = Bench::new();
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes);
        bench.measure(&format!("W1 chain {nodes}, no store"), nodes, || (), async |(), _| {
            graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    let graph = two_node_loop(1000);
    bench.measure("W3 loop of 2 nodes and a router, no store", 2000, || (), async |(), _| {
        graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
    });
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes);
        let stored = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W2 chain {nodes}, memory"), nodes, stored, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width);
        bench.measure(&format!("W4 fan-out {width}, no store"), width, || (), async |(), _| {
            graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width);
        let stored = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W4 fan-out {width}, memory"), width, stored, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
}
