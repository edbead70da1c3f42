//! W9: from the start of a process to its first node, and its memory at that time; no store.

use std::sync::Arc;

use superstep::prelude::*;

use super::bytes::memory_kb;
use super::child;
use super::figure::Figure;
use super::graphs::Tally;
use super::harness::Bench;
use super::measure::Spread;

#[derive(NodeId)]
enum Only {
    First,
}

pub(crate) fn run(bench: &Bench) {
    let starts = bench.pick([41, 15, 1]);
    let of = |task: &str| -> (Spread, Spread) {
        let answers: Vec<_> = (0..starts).map(|_| child::start(task, bench.root())).collect();
        let times = answers.iter().map(|(took, _)| *took).collect();
        let sizes = answers.iter().map(|(_, numbers)| numbers[1] / 1024.0).collect();
        (Spread::of(times), Spread::of(sizes))
    };
    let (bare_time, bare_size) = of("nothing");
    let (time, size) = of("first-node");
    let what = "process start to first node (limit: to main)";
    bench.print(&Figure::new("W9", what, time, "us wall").limit(bare_time).target("<= 5000"));
    let what = "resident memory at the first node (limit: at main)";
    bench.print(&Figure::new("W9", what, size, "MB").limit(bare_size).target("<= 8"));
}

/// Prints the answer from within the node.
pub(crate) fn child() {
    let first = async |_: Arc<Tally>, _: Ctx| {
        println!("0 {}", memory_kb("VmRSS"));
        Ok::<_, NodeError>(Tally::update().count(1u64))
    };
    let graph = StateGraph::new()
        .add_node(Only::First, move |tally: Arc<Tally>, ctx: Ctx| first(tally, ctx))
        .add_edge(START, Only::First)
        .add_edge(Only::First, END)
        .compile()
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(graph.invoke(Writes::default())).unwrap();
}
