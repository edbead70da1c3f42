//! Large values that nobody touches: the history beside them, a stream of states, workers with a router.

use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::graph::{Name, Request, Thread};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::{AfterSplit, FETCH, Map, Page, chain};
use super::harness::Bench;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Heap {
    #[channel(add)]
    count: u64,
    blob: Vec<u8>,
}

pub(crate) fn run(bench: &Bench) {
    history(bench);
    stream(bench);
    workers(bench);
}

fn history(bench: &Bench) {
    let bytes = bench.pick([63 << 20, 63 << 20, 1000]) as usize;
    let folder = bench.folder();
    let thread = stored(bench, folder.path(), 20, bytes);
    let listed = |limit| {
        bench.each(|| {
            let page = async { thread.history().await.unwrap().limit(limit).metadata_only().await.unwrap().len() };
            assert_eq!(bench.lone.block_on(page), limit);
            1
        })
    };
    let what = format!("history().limit(10) beside {} MiB, no values", bytes >> 20);
    bench.print(&Figure::cpu("beside", what, listed(10)).target("<= 5000"));
    let read = |limit| {
        bench.each(|| {
            let page = async { thread.history().await.unwrap().limit(limit).all().await.unwrap().len() };
            assert_eq!(bench.lone.block_on(page), limit);
            1
        })
    };
    let what = format!("history().limit(1) beside {} MiB, values", bytes >> 20);
    bench.print(&Figure::cpu("beside", what, read(1)));
    let what = format!("history().limit(10) beside {} MiB, values", bytes >> 20);
    bench.print(&Figure::cpu("beside", what, read(10)).target("as limit(1)"));
    drop(thread);
    let folder = bench.folder();
    let thread = stored(bench, folder.path(), 20, 100);
    let first = bench.measure(&bench.lone, 1, async || {
        thread.history().await.unwrap().limit(1).all().await.unwrap();
    });
    bench.print(&Figure::cpu("beside", "history().limit(1) of a small state", first).target("<= 40"));
}

/// Stores a thread, and returns it as a graph that has not written it.
fn stored(bench: &Bench, folder: &Path, steps: u64, bytes: usize) -> Thread<Heap, Name> {
    let store: Arc<dyn Checkpointer> = Arc::new(SledCheckpointer::open(folder).unwrap());
    let thread = || chain((), steps, count).with_shared_checkpointer(Arc::clone(&store)).thread("heap");
    bench.lone.block_on(thread().invoke(Heap::update().blob(vec![7; bytes]))).unwrap();
    thread()
}

async fn count(_: Arc<Heap>, _: Ctx) -> Result<HeapUpdate, NodeError> {
    Ok(Heap::update().count(1u64))
}

fn stream(bench: &Bench) {
    let bytes = bench.pick([4 << 20, 4 << 20, 1000]) as usize;
    let graph = chain((), 20, count);
    let input = Heap::update().blob(vec![7; bytes]);
    let streamed = |modes: &'static [Mode]| {
        bench.each(|| {
            bench.lone.block_on(async {
                let mut events = graph.thread("heap").stream(Request::input(input.clone()), modes.iter().copied());
                let mut count = 0;
                while events.next().await.is_some() {
                    count += 1;
                }
                assert!(count >= 20, "{count} events");
            });
            1
        })
    };
    let what = format!("20 steps beside {} MiB, no listener for values", bytes >> 20);
    bench.print(&Figure::cpu("beside", what, streamed(&[Mode::Updates])));
    let what = format!("20 steps beside {} MiB, stream of values", bytes >> 20);
    bench.print(&Figure::cpu("beside", what, streamed(&[Mode::Values])).target("<= 2000"));
}

#[derive(Route)]
enum AfterFetch {
    #[to(Map::Sum)]
    Sum,
}

fn workers(bench: &Bench) {
    for bytes in [1000, bench.pick([10 << 20, 10 << 20, 1000]) as usize] {
        let workers = bench.pick([1000, 1000, 3]);
        let graph = fan_out(workers);
        let input = Heap::update().blob(vec![7; bytes]);
        let timing = bench.each(|| {
            drop(bench.lone.block_on(graph.invoke(input.clone())).unwrap());
            workers
        });
        let what = format!("{workers} workers with a router beside {} KiB, per worker", bytes >> 10);
        bench.print(&Figure::cpu("beside", what, timing).target("<= 10, flat"));
    }
}

fn fan_out(width: u64) -> CompiledGraph<Heap, Map> {
    let fetch = |page: Arc<Page>, _: Ctx| async move { Ok::<_, NodeError>(Heap::update().count(page.0)) };
    let split = move |_: &Heap| AfterSplit::workers(width);
    let nothing = |_: Arc<Heap>, _: Ctx| async { Ok::<_, NodeError>(Heap::update()) };
    StateGraph::new()
        .add_node(Map::Split, nothing)
        .add_worker(FETCH, fetch)
        .add_node(Map::Sum, nothing)
        .add_edge(START, Map::Split)
        .add_conditional_edges(Map::Split, split)
        .add_conditional_edges(Map::Fetch, |_: &Heap| AfterFetch::Sum)
        .compile()
        .unwrap()
}
