//! Large threads: an append channel with very many entries, read whole and page by page; a thread of large values,
//! exported. Each read runs in a separate process that prints its peak memory.

use std::io::sink;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use superstep::checkpoint::{Checkpointer, ExportOptions, export_thread};
use superstep::prelude::*;

use super::bytes::{memory_kb, noise};
use super::child;
use super::figure::Figure;
use super::harness::Bench;
use super::measure::Spread;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Heap {
    #[channel(append)]
    lines: Vec<String>,
    last: Vec<u8>,
}

#[derive(NodeId)]
enum Step {
    Fill,
}

#[derive(Route)]
enum More {
    #[to(Step::Fill)]
    Yes,
    #[to(END)]
    No,
}

pub(crate) fn run(bench: &Bench) {
    let entries = bench.pick([100_000, 10_000, 20]) as usize;
    let folder = bench.folder();
    fill(bench, folder.path(), entries / 10, 10, 0);
    for what in ["state", "status", "history"] {
        read(bench, folder.path(), &format!("large-{what}"), format!("{what} over {entries} entries"));
    }
    let mib = bench.pick([1024, 128, 1]) as usize;
    let folder = bench.folder();
    fill(bench, folder.path(), mib, 1, 1 << 20);
    read(bench, folder.path(), "large-export", format!("export of {mib} MiB"));
    read(bench, folder.path(), "large-values", format!("history of {mib} values of 1 MiB"));
}

fn fill(bench: &Bench, folder: &Path, supersteps: usize, entries: usize, bytes: usize) {
    let graph = graph(supersteps, entries, bytes).with_checkpointer(SledCheckpointer::open(folder).unwrap());
    let thread = graph.thread("heap").durability(Durability::Async).recursion_limit(supersteps as u64 + 2);
    bench.lone.block_on(thread.invoke(Heap::update())).unwrap();
}

/// Returns a graph with this many supersteps, each of which writes this many entries and a value of this many bytes.
fn graph(supersteps: usize, entries: usize, bytes: usize) -> CompiledGraph<Heap, Step> {
    let fill = move |heap: Arc<Heap>, _: Ctx| async move {
        let nth = heap.lines.len();
        let lines = (0..entries).map(|at| format!("line {:07} with some more text in it", nth + at));
        let mut update = Heap::update();
        for line in lines {
            update = update.lines([line]);
        }
        Ok::<_, NodeError>(if bytes == 0 { update } else { update.last(noise(nth as u64, bytes)) })
    };
    let again = move |heap: &Heap| if heap.lines.len() < supersteps * entries { More::Yes } else { More::No };
    let graph = StateGraph::new().add_node(Step::Fill, fill).add_edge(START, Step::Fill);
    graph.add_conditional_edges(Step::Fill, again).compile().unwrap()
}

/// Reads in a child process.
fn read(bench: &Bench, folder: &Path, task: &str, told: String) {
    let (_, numbers) = child::start(task, folder);
    let (millis, peak) = (Spread::exact(numbers[0]), Spread::exact(numbers[1]));
    bench.print(&Figure::new("large", told.clone(), millis, "ms"));
    bench.print(&Figure::new("large", format!("{told}: greatest memory"), peak, "MiB"));
}

/// Reads in the child process, and prints the time and memory.
pub(crate) fn child(task: &str, folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let began = Instant::now();
    runtime.block_on(reading(task, folder));
    println!("{} {}", began.elapsed().as_millis(), memory_kb("VmHWM") >> 10);
}

async fn reading(task: &str, folder: &Path) {
    let store: Arc<dyn Checkpointer> = Arc::new(SledCheckpointer::open(folder).unwrap());
    let thread = graph(0, 0, 0).with_shared_checkpointer(Arc::clone(&store)).thread("heap");
    match task {
        "large-state" => drop(thread.state().await.unwrap()),
        "large-status" => drop(thread.status().await.unwrap()),
        "large-export" => drop(export_thread(&*store, &"heap".into(), &ExportOptions::new(), sink()).await.unwrap()),
        _ => {
            let mut history =
                thread.history().await.unwrap().limit(if task == "large-history" { 20 } else { usize::MAX });
            while let Some(snapshot) = history.next().await {
                drop(snapshot.unwrap());
            }
        }
    }
}
