//! W8: a thousand concurrent conversations of ten supersteps, in a child process: supersteps per second, peak memory.

use std::path::Path;
use std::time::Instant;

use superstep::graph::Name;
use superstep::prelude::*;
use tokio::task::JoinSet;

use super::bytes::memory_kb;
use super::child;
use super::figure::Figure;
use super::graphs::{Tally, tally_chain};
use super::harness::Bench;
use super::measure::Spread;

const THREADS: u64 = 1000;
const STEPS: u64 = 10;

pub(crate) fn run(bench: &Bench) {
    show(bench, "threads-memory", "memory store", ">= 300");
    show(bench, "threads-sled", "durable sync", ">= 10");
}

fn show(bench: &Bench, task: &str, store: &str, target: &'static str) {
    let runs = (0..bench.pick([9, 3, 1])).map(|_| child::start(task, bench.folder().path()).1);
    let runs: Vec<Vec<f64>> = runs.collect();
    let each = |at: usize, scale: f64| Spread::of(runs.iter().map(|run| run[at] * scale).collect());
    let what = format!("{THREADS} threads x {STEPS} supersteps, {store}");
    bench.print(&Figure::new("W8", what.clone(), each(0, 1e-3), "k steps/s").target(target));
    bench.print(&Figure::new("W8", format!("{what}, peak memory"), each(1, 1.0 / 1024.0), "MB").target("<= 60"));
}

/// Prints supersteps per second, and peak memory in KB.
pub(crate) fn child(folder: Option<&Path>) {
    let graph = tally_chain(STEPS);
    let graph = match folder {
        Some(folder) => graph.with_checkpointer(SledCheckpointer::open(folder).unwrap()),
        None => graph.with_checkpointer(MemoryCheckpointer::new()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let began = Instant::now();
    runtime.block_on(all(&graph));
    let per_second = (THREADS * STEPS) as f64 / began.elapsed().as_secs_f64();
    println!("{per_second} {}", memory_kb("VmHWM"));
}

async fn all(graph: &CompiledGraph<Tally, Name>) {
    let mut running = JoinSet::new();
    for nth in 0..THREADS {
        let thread = graph.thread(format!("t-{nth:06}"));
        running.spawn(async move { thread.invoke(Writes::default()).await.unwrap() });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}
