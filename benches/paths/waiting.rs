//! The memory of a run that waits in a node, in a process of its own.

use std::process::Command;

use std::sync::Arc;

use superstep::prelude::*;
use tokio::task::JoinSet;

use super::bytes::memory_kb;
use super::figure::Figure;
use super::graphs::{Tally, chain};
use super::harness::Bench;
use super::measure::Spread;

const RUNS: &str = "SUPERSTEP_BENCH_WAITING";

pub(crate) fn run(bench: &Bench) {
    let runs = bench.pick([20_000, 10_000, 10]);
    for store in ["none", "memory"] {
        let child =
            Command::new(std::env::current_exe().unwrap()).env(RUNS, format!("{store} {runs}")).output().unwrap();
        let bytes: f64 = String::from_utf8(child.stdout).unwrap().trim().parse().unwrap();
        let what = format!("a run waiting in a node, store: {store}");
        bench.print(&Figure::new("waiting", what, Spread::exact(bytes), "bytes").target("<= 3000"));
    }
}

/// Runs the task of the child process; returns false in the parent.
pub(crate) fn child() -> bool {
    let Ok(task) = std::env::var(RUNS) else { return false };
    let (store, runs) = task.split_once(' ').unwrap();
    let runs = runs.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("{}", runtime.block_on(wait(store == "memory", runs)));
    true
}

async fn wait(stored: bool, runs: u64) -> u64 {
    let node = |_: Arc<Tally>, _: Ctx| async {
        std::future::pending::<()>().await;
        Ok::<_, NodeError>(())
    };
    let graph = chain((), 1, node);
    let graph = if stored { graph.with_checkpointer(MemoryCheckpointer::new()) } else { graph };
    let (mut waiting, mut before) = (JoinSet::new(), 0);
    for nth in 0..runs + runs / 10 {
        if nth == runs / 10 {
            before = resident();
        }
        let graph = graph.clone();
        if stored {
            let thread = graph.thread(format!("t-{nth:06}"));
            waiting.spawn(async move { drop(thread.invoke(Writes::default()).await) });
        } else {
            waiting.spawn(async move { drop(graph.invoke(Writes::default()).await) });
        }
        tokio::task::yield_now().await;
    }
    (resident() - before) / runs
}

/// Resident memory in bytes.
fn resident() -> u64 {
    memory_kb("VmRSS") << 10
}
