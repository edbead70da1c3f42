//! A state of 60 MiB of which a superstep changes little: supersteps, history, verify; and a thread of very many
//! checkpoints, exported and imported. Reads run in a process of their own, which prints its CPU time and greatest memory.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use superstep::checkpoint::{
    Checkpointer, ExportOptions, FjallCheckpointer, ImportOptions, StoreKind, export_thread, import_thread,
};
use superstep::graph::Thread;
use superstep::prelude::*;

use super::bytes::memory_kb;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::{Clocks, Samples, Spread};

const CHILD: &str = "SUPERSTEP_BENCH_HEAVY";

/// A store, by its kind and its folder.
type Place<'a> = (StoreKind, &'a Path);

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Heap {
    #[channel(add)]
    count: u64,
    blob: Vec<u8>,
    #[channel(append)]
    lines: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Count,
}

#[derive(Route)]
enum More {
    #[to(Step::Count)]
    Yes,
    #[to(END)]
    No,
}

pub(crate) fn run(bench: &Bench) {
    let mib = bench.pick([60, 60, 1]);
    for mib in [0, 2.min(mib), mib] {
        supersteps(bench, mib);
    }
    for mib in [2.min(mib), 8.min(mib), mib] {
        reads(bench, mib);
    }
    let checkpoints = bench.pick([300_000, 300_000, 20]);
    for kind in [StoreKind::Sled, StoreKind::Fjall] {
        let folder = bench.folder();
        let [store, imported] = ["store", "imported"].map(|name| folder.path().join(name));
        fill(bench, (kind, &store), 0, checkpoints);
        for (what, store, target) in [("export", &store, "<= 150"), ("import", &imported, "")] {
            let [cpu, peak] = child((kind, store), what);
            let what = format!("{}: {what} of {checkpoints} checkpoints", kind.name());
            bench.print(&Figure::new("heavy", what.clone(), Spread::exact(cpu / 1e6), "s cpu"));
            let figure = Figure::new("heavy", format!("{what}: greatest memory"), Spread::exact(peak), "MiB");
            bench.print(&figure.target(target));
        }
    }
}

/// Supersteps beside this many MiB, and runs of one superstep by a kept graph.
fn supersteps(bench: &Bench, mib: u64) {
    let folder = bench.folder();
    let thread = thread((StoreKind::Sled, folder.path()), 20);
    bench.lone.block_on(thread.invoke(Heap::update().blob(vec![7; (mib << 20) as usize]))).unwrap();
    let mut samples = Samples::default();
    for _ in 0..bench.pick([9, 5, 1]) {
        let clocks = Clocks::start();
        drop(bench.lone.block_on(thread.invoke(Heap::update().count(0u64))).unwrap()); // the count is reached
        samples.add(clocks, 1);
    }
    let what = format!("a run of one superstep beside {mib} MiB, the graph kept");
    bench.print(&Figure::cpu("heavy", what, samples.timing()).target("flat"));
    let graph = graph(40);
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let thread = graph.with_shared_checkpointer(store).thread("heap").max_supersteps(20);
    drop(bench.lone.block_on(thread.invoke(Heap::update().blob(vec![7; (mib << 20) as usize]))).unwrap());
    let clocks = Clocks::start();
    drop(bench.lone.block_on(thread.proceed()).unwrap());
    let mut samples = Samples::default();
    samples.add(clocks, 20);
    let what = format!("a superstep beside {mib} MiB, memory store");
    bench.print(&Figure::cpu("heavy", what, samples.timing()).target("flat"));
}

/// History, state and verify of six checkpoints beside this many MiB.
fn reads(bench: &Bench, mib: u64) {
    let folder = bench.folder();
    let store = (StoreKind::Sled, folder.path());
    fill(bench, store, (mib << 20) as usize, 4);
    let [state, state_peak] = child(store, "state");
    for what in ["history", "touched", "verify"] {
        let [cpu, peak] = child(store, what);
        let of = format!("{what} of 6 checkpoints beside {mib} MiB");
        let figure = Figure::new("heavy", of.clone(), Spread::exact(cpu / 1e3), "ms cpu");
        bench.print(&figure.limit(Spread::exact(state / 1e3)).target(if what == "verify" {
            "<= 3x state"
        } else {
            ""
        }));
        let figure = Figure::new("heavy", format!("{of}: greatest memory"), Spread::exact(peak), "MiB");
        bench.print(&figure.limit(Spread::exact(state_peak)));
    }
}

fn fill(bench: &Bench, store: Place<'_>, bytes: usize, supersteps: u64) {
    let thread = thread(store, supersteps).durability(Durability::Async).recursion_limit(supersteps + 2);
    bench.lone.block_on(thread.invoke(Heap::update().blob(vec![7; bytes]))).unwrap();
}

fn thread(store: Place<'_>, supersteps: u64) -> Thread<Heap, Step> {
    graph(supersteps).with_shared_checkpointer(open(store)).thread("heap")
}

fn open((kind, folder): Place<'_>) -> Arc<dyn Checkpointer> {
    match kind {
        StoreKind::Sled => Arc::new(SledCheckpointer::open(folder).unwrap()),
        StoreKind::Fjall => Arc::new(FjallCheckpointer::open(folder).unwrap()),
    }
}

fn graph(supersteps: u64) -> CompiledGraph<Heap, Step> {
    let count = |heap: Arc<Heap>, _: Ctx| async move {
        let line = (heap.count.is_multiple_of(2)).then(|| format!("line {}", heap.count));
        Ok::<_, NodeError>(Heap::update().count(1u64).lines(line))
    };
    let again = move |heap: &Heap| if heap.count < supersteps { More::Yes } else { More::No };
    let graph = StateGraph::new().add_node(Step::Count, count.replayable()).add_edge(START, Step::Count);
    graph.add_conditional_edges(Step::Count, again).compile().unwrap()
}

/// Starts a child process; returns its microseconds of CPU and its greatest memory in MiB.
fn child((kind, folder): Place<'_>, what: &str) -> [f64; 2] {
    let program = std::env::current_exe().unwrap();
    let output =
        Command::new(program).env(CHILD, format!("{what} {} {}", kind.name(), folder.display())).output().unwrap();
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [numbers[0], numbers[1]]
}

/// Runs the task of a child process; returns false in the parent.
pub(crate) fn reading() -> bool {
    let Ok(task) = std::env::var(CHILD) else { return false };
    let [what, kind, folder] = task.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let kind = if kind == StoreKind::Fjall.name() { StoreKind::Fjall } else { StoreKind::Sled };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let clocks = Clocks::start();
    runtime.block_on(read(what, (kind, Path::new(folder))));
    println!("{} {}", clocks.read().0.as_micros(), memory_kb("VmHWM") >> 10);
    true
}

async fn read(what: &str, store: Place<'_>) {
    let file = store.1.with_file_name("thread.ssx");
    let store = open(store);
    let thread = graph(4).with_shared_checkpointer(Arc::clone(&store)).thread("heap");
    match what {
        "state" => drop(thread.state().await.unwrap()),
        "history" => assert_eq!(thread.history().await.unwrap().all().await.unwrap().len(), 6),
        "touched" => {
            let all = thread.history().await.unwrap().all().await.unwrap();
            assert_eq!(all.iter().map(|snapshot| snapshot.values.count).sum::<u64>(), 10);
        }
        "verify" => assert!(thread.verify().await.unwrap().agrees()),
        "import" => {
            let file = File::open(file).unwrap();
            drop(import_thread(&*store, file, &ImportOptions::new()).await.unwrap());
        }
        _ => {
            let file = BufWriter::new(File::create(file).unwrap());
            drop(export_thread(&*store, &"heap".into(), &ExportOptions::new(), file).await.unwrap());
        }
    }
}
