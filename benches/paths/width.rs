//! Wide supersteps: fan-out by edges without a store, sends into a memory store.

use std::sync::Arc;
use superstep::graph::Name;

use superstep::prelude::*;

use super::figure::Figure;
use super::harness::Bench;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Tally {
    #[channel(add)]
    count: u64,
}

#[derive(Serialize, Deserialize)]
struct Page(u64);

#[derive(NodeId)]
enum Map {
    Split,
    Fetch,
    Sum,
}

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

pub(crate) fn run(bench: &Bench) {
    for width in [100, bench.pick([1000, 1000, 10]), bench.pick([10_000, 10_000, 20])] {
        let graph = edges(width);
        let timing = bench.measure(&bench.lone, width, async || {
            graph.invoke(Writes::default()).await.unwrap();
        });
        let what = format!("fan-out by edges to {width} nodes, per node");
        bench.print(&Figure::cpu("width", what, timing).target("<= 1.5, flat"));
    }
    for width in [100, bench.pick([1000, 1000, 10]), bench.pick([10_000, 10_000, 20])] {
        let graph = sends(width);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, width, new, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.unwrap();
        });
        let what = format!("sends to {width} workers, memory store, per worker");
        bench.print(&Figure::cpu("width", what, timing).target("flat"));
    }
    for length in [100, bench.pick([1000, 1000, 10])] {
        let graph = chain(length);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, length, new, async |graph, nth| {
            graph.thread(format!("t{nth}")).recursion_limit(length + 2).invoke(Writes::default()).await.unwrap();
        });
        let what = format!("chain of {length}, memory store, per step");
        bench.print(&Figure::cpu("width", what, timing).target("<= 2"));
    }
}

async fn count(_: Arc<Tally>, _: Ctx) -> Result<TallyUpdate, NodeError> {
    Ok(Tally::update().count(1u64))
}

fn id(nth: u64) -> Name {
    Name::from(format!("n{nth:06}"))
}

/// One node with edges to many, which lead to one.
fn edges(width: u64) -> CompiledGraph<Tally, Name> {
    let graph = StateGraph::new().add_node(Name::from("split"), count).add_node(Name::from("end"), count);
    let graph = (0..width).fold(graph.add_edge(START, Name::from("split")), |graph, nth| {
        graph.add_node(id(nth), count).add_edge(Name::from("split"), id(nth)).add_edge(id(nth), Name::from("end"))
    });
    graph.compile().unwrap()
}

fn sends(width: u64) -> CompiledGraph<Tally, Map> {
    let fetch = |page: Arc<Page>, _: Ctx| async move { Ok::<_, NodeError>(Tally::update().count(page.0)) };
    let split = move |_: &Tally| AfterSplit::Pages((0..width).map(Page).collect());
    StateGraph::new()
        .add_node(Map::Split, count)
        .add_worker(FETCH, fetch)
        .add_node(Map::Sum, count)
        .add_edge(START, Map::Split)
        .add_conditional_edges(Map::Split, split)
        .add_edge(Map::Fetch, Map::Sum)
        .compile()
        .unwrap()
}

fn chain(nodes: u64) -> CompiledGraph<Tally, Name> {
    let graph = (0..nodes).fold(StateGraph::new(), |graph, nth| graph.add_node(id(nth), count));
    let graph = (1..nodes).fold(graph, |graph, nth| graph.add_edge(id(nth - 1), id(nth)));
    graph.add_edge(START, id(0)).compile().unwrap()
}
