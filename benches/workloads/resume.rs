//! W7: an interrupt is answered on an open store: load, resume, finish. Opening the store is a separate figure.

use std::sync::Arc;

use superstep::prelude::*;

use super::figure::Figure;
use super::harness::Bench;
use super::replay::{BareSled, Recording, Values};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Count {
    n: u64,
}

#[derive(NodeId)]
enum Step {
    Draft,
    Ask,
    Publish,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve {
    n: u64,
}

async fn bump(count: Arc<Count>, _: Ctx) -> Result<CountUpdate, NodeError> {
    Ok(Count::update().n(count.n + 1))
}

async fn ask(count: Arc<Count>, ctx: Ctx) -> Result<CountUpdate, NodeError> {
    let approved = ctx.interrupt(Approve { n: count.n })?;
    Ok(Count::update().n(count.n + if approved { 10 } else { 0 }))
}

fn approval() -> CompiledGraph<Count, Step> {
    StateGraph::new()
        .add_node(Step::Draft, bump)
        .add_node(Step::Ask, ask.asks::<Approve>())
        .add_node(Step::Publish, bump)
        .add_edge(START, Step::Draft)
        .add_edge(Step::Draft, Step::Ask)
        .add_edge(Step::Ask, Step::Publish)
        .add_edge(Step::Publish, END)
        .compile()
        .unwrap()
}

pub(crate) fn run(bench: &Bench) {
    let count = bench.pick([51, 21, 2]);
    let folder = bench.folder();
    let graph = approval().with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    (0..count).for_each(|nth| interrupt(bench, &graph, nth));
    drop(graph);

    let graph = approval().with_checkpointer(SledCheckpointer::open(folder.path()).unwrap());
    let (commits, bare_folder) = (recorded(bench), bench.folder());
    let mut bare = BareSled::open(bare_folder.path());
    let (ours, limit) = bench.race(count, 1, |nth| resume(bench, &graph, nth), |_| bare.write(&commits));
    drop((graph, bare));
    let what = format!("load, resume, finish on an open store ({} commits)", commits.len());
    bench.print(&Figure::wall("W7", what, ours).limit(limit.wall).target("<= 3000"));

    let open = |_| drop(SledCheckpointer::open(folder.path()).unwrap());
    let (ours, limit) = bench.race(bench.pick([15, 5, 1]), 1, open, |_| drop(BareSled::open(bare_folder.path())));
    let what = "open the store and close it";
    bench.print(&Figure::wall("W7", what, ours).limit(limit.wall).target("reported apart"));
}

fn interrupt(bench: &Bench, graph: &CompiledGraph<Count, Step>, nth: u64) {
    let outcome = bench.lone.block_on(graph.thread(format!("t-{nth:06}")).invoke(Count::update().n(0u64))).unwrap();
    assert_eq!(outcome.questions().len(), 1);
}

fn resume(bench: &Bench, graph: &CompiledGraph<Count, Step>, nth: u64) {
    let thread = graph.thread(format!("t-{nth:06}"));
    let outcome = bench.lone.block_on(thread.resume::<Approve>(true)).unwrap();
    assert_eq!(outcome.finished().unwrap().n, 12);
}

/// Records the commits of a resumed run.
fn recorded(bench: &Bench) -> Vec<Values> {
    let recording = Recording::default();
    let graph = approval().with_checkpointer(recording.clone());
    interrupt(bench, &graph, 0);
    recording.take();
    resume(bench, &graph, 0);
    recording.take()
}
