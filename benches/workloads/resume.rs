//! W7: a question is answered on an open store: load, resume, finish. Opening the store is a figure of its own.

use std::path::Path;
use std::sync::Arc;

use superstep::prelude::*;

use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Timing};
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

#[derive(Serialize, Deserialize)]
struct Approve {
    n: u64,
}

impl Interrupt for Approve {
    type Resume = bool;
    const NAME: &'static str = "approve";
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
    let timing = time(count, |nth| resume(bench, &graph, nth));
    drop(graph);
    let commits = recorded(bench);
    let what = format!("load, resume, finish on an open store ({} commits)", commits.len());
    bench.print(&Figure::wall("W7", what, timing).limit(bare(bench, count, &commits).wall).target("<= 3000"));

    let what = "open the store, and close it";
    let opened = time(bench.pick([9, 5, 1]), |_| drop(SledCheckpointer::open(folder.path()).unwrap()));
    let bare = bench.folder();
    BareSled::open(bare.path()).write(&commits);
    let limit = time(bench.pick([9, 5, 1]), |_| drop(BareSled::open(bare.path())));
    bench.print(&Figure::wall("W7", what, opened).limit(limit.wall).target("reported apart"));
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

/// What a resumed run commits.
fn recorded(bench: &Bench) -> Vec<Values> {
    let recording = Recording::default();
    let graph = approval().with_checkpointer(recording.clone());
    interrupt(bench, &graph, 0);
    recording.take();
    resume(bench, &graph, 0);
    recording.take()
}

fn bare(bench: &Bench, count: u64, commits: &[Values]) -> Timing {
    let folder = bench.folder();
    let path: &Path = folder.path();
    let mut sled = BareSled::open(path);
    time(count, |_| sled.write(commits))
}

fn time(count: u64, mut run: impl FnMut(u64)) -> Timing {
    let mut samples = Samples::default();
    for nth in 0..count {
        let clocks = Clocks::start();
        run(nth);
        samples.add(clocks, 1);
    }
    samples.timing()
}
