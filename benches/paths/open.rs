//! Opening a store, and what a new process does with it: load, resume, finish. Beside it a bare sled.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FjallCheckpointer};
use superstep::prelude::*;
use tempfile::TempDir;

use super::bytes::noise;
use super::figure::Figure;
use super::harness::Bench;
use super::replay::BareSled;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Heap {
    blob: Vec<u8>,
    #[channel(add)]
    count: u64,
}

#[derive(NodeId)]
enum Step {
    Ask,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve;

pub(crate) fn run(bench: &Bench) {
    for mib in [1, bench.pick([40, 40, 1]), bench.pick([1000, 200, 1])] {
        sized(bench, mib);
        on_fjall(bench, mib);
    }
}

/// The same on fjall: after a clean end, its size does not count.
fn on_fjall(bench: &Bench, mib: u64) {
    let folder = bench.folder();
    let open = || FjallCheckpointer::open(folder.path()).unwrap();
    fill(bench, graph(open()), mib, bench.pick([21, 7, 1]));
    let opened = bench.each(|| {
        drop(open());
        1
    });
    bench.print(&Figure::wall("open", format!("open and close a fjall store of {mib} MiB"), opened).target("<= 5000"));
    let mut nth = 0;
    let resumed = bench.each(|| {
        resume(bench, &graph(open()), nth);
        nth += 1;
        1
    });
    let what = format!("open, load, resume, finish, close, fjall store of {mib} MiB");
    bench.print(&Figure::wall("open", what, resumed).target("<= 7000"));
}

fn sized(bench: &Bench, mib: u64) {
    let folder = bench.folder();
    let rounds = bench.pick([7, 3, 1]);
    fill(bench, graph(SledCheckpointer::open(folder.path()).unwrap()), mib, 2 * rounds);
    first(bench, folder.path(), mib);
    let open = |_| drop(SledCheckpointer::open(folder.path()).unwrap());
    let bare = |_| drop(BareSled::open(folder.path()));
    let (ours, limit) = bench.race(rounds, 1, open, bare);
    bench.print(&Figure::cpu("open", format!("open and close a store of {mib} MiB"), ours).limit(limit.cpu));
    bench.print(&Figure::wall("open", format!("open and close a store of {mib} MiB"), ours).limit(limit.wall));
    let resume = |nth| resume(bench, &graph(SledCheckpointer::open(folder.path()).unwrap()), nth);
    let (ours, limit) = bench.race(rounds, 1, resume, bare);
    let what = format!("open, load, resume, finish, close, {mib} MiB");
    bench.print(&Figure::cpu("open", &*what, ours).limit(limit.cpu));
    bench.print(&Figure::wall("open", what, ours).limit(limit.wall));
}

/// The first opening after a process wrote all that: sled replays its log, and the store checks it before.
fn first(bench: &Bench, folder: &Path, mib: u64) {
    let (ours, bare) = (copy(bench, folder), copy(bench, folder));
    let open = |_| drop(SledCheckpointer::open(ours.path()).unwrap());
    let (ours, limit) = bench.race(1, 1, open, |_| drop(BareSled::open(bare.path())));
    let what = format!("first opening of {mib} MiB that were just written");
    bench.print(&Figure::cpu("open", what, ours).limit(limit.cpu));
}

fn copy(bench: &Bench, folder: &Path) -> TempDir {
    let copy = bench.folder();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

fn resume(bench: &Bench, graph: &CompiledGraph<Heap, Step>, nth: u64) {
    let outcome = bench.lone.block_on(graph.thread(format!("t-{nth}")).resume::<Approve>(true)).unwrap();
    assert!(outcome.finished().is_some());
}

fn fill(bench: &Bench, graph: CompiledGraph<Heap, Step>, mib: u64, threads: u64) {
    for nth in 0..threads {
        bench.lone.block_on(graph.thread(format!("t-{nth}")).invoke(Heap::update())).unwrap();
    }
    for nth in 0..mib * 8 {
        let thread = graph.thread(format!("big-{nth}")).durability(Durability::Async);
        bench.lone.block_on(thread.invoke(Heap::update().blob(noise(nth + 1, 128 << 10)))).unwrap();
    }
}

fn graph(store: impl Checkpointer) -> CompiledGraph<Heap, Step> {
    let ask = |_: Arc<Heap>, ctx: Ctx| async move {
        let approved = ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(Heap::update().count(u64::from(approved)))
    };
    let graph = StateGraph::new().add_node(Step::Ask, ask.asks::<Approve>()).add_edge(START, Step::Ask);
    graph.compile().unwrap().with_checkpointer(store)
}
