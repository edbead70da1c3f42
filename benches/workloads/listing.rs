//! Commands that a person waits for at a terminal: listing ten thousand threads, the history of one of them, replaying
//! a thousand supersteps from their records.

use std::sync::Arc;

use superstep::graph::{Replay, Thread, ThreadInfo};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::{Tally, Two, two_node_loop};
use super::harness::Bench;

pub(crate) fn run(bench: &Bench) {
    list(bench);
    tell_again(bench);
}

fn list(bench: &Bench) {
    let folder = bench.folder();
    let open = || Arc::new(SledCheckpointer::open(folder.path()).unwrap());
    let threads = bench.pick([10_000, 10_000, 5]);
    let graph = two_node_loop(2).with_shared_checkpointer(open());
    for nth in 0..threads {
        let thread = graph.thread(format!("t-{nth:06}")).durability(Durability::Exit);
        bench.lone.block_on(thread.invoke(Writes::default())).unwrap();
    }
    drop(graph);
    let store = open();
    let listed = bench.each(|| {
        let found = bench.lone.block_on(ThreadInfo::all(&*store)).unwrap();
        assert_eq!(found.len() as u64, threads);
        1
    });
    let what = format!("{threads} threads listed, no state read");
    bench.print(&Figure::wall("list", what, listed).target("<= 100000"));

    let graph = two_node_loop(2).with_shared_checkpointer(store);
    let mut nth = 0;
    let told = bench.each(|| {
        nth = (nth + 7_919) % threads;
        let thread = graph.thread(format!("t-{nth:06}"));
        let told = async { thread.history().await.unwrap().metadata_only().await.unwrap() };
        assert!(!bench.lone.block_on(told).is_empty());
        1
    });
    let what = format!("history of one of {threads} threads, metadata only");
    bench.print(&Figure::wall("list", what, told).target("<= 100000"));
}

fn tell_again(bench: &Bench) {
    let folder = bench.folder();
    let rounds = bench.pick([500, 500, 5]);
    let store = SledCheckpointer::open(folder.path()).unwrap();
    let thread = two_node_loop(rounds).with_checkpointer(store).thread("told");
    bench.lone.block_on(thread.clone().durability(Durability::Async).invoke(Writes::default())).unwrap();
    for (mode, told) in [(Mode::Updates, "updates"), (Mode::Values, "states")] {
        let what = format!("{} supersteps told again from their records, {told}", 2 * rounds);
        let told = bench.each(|| {
            assert!(bench.lone.block_on(events(&thread, mode)) >= 2 * rounds);
            1
        });
        bench.print(&Figure::wall("replay", what, told).target("<= 50000"));
    }
}

async fn events(thread: &Thread<Tally, Two>, mode: Mode) -> u64 {
    let mut events = thread.replay(Replay::Recorded).stream([mode]);
    let mut told = 0;
    while events.next().await.is_some() {
        told += 1;
    }
    told
}
