//! Threads by status, the first page of all, and the newest: the time of a list must grow with the answer, not with the threads of the store.

use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, FjallCheckpointer, MemoryCheckpointer, SledCheckpointer};
use superstep::graph::{StatusKind, ThreadFilter};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::two_node_loop;
use super::harness::Bench;

/// The number of threads that have not finished.
const PENDING: u64 = 20;

pub(crate) fn run(bench: &Bench) {
    let folder = bench.folder();
    for threads in [bench.pick([100, 100, 30]), bench.pick([10_000, 10_000, 60]), bench.pick([100_000, 20_000, 80])] {
        let at = |kind: &str| folder.path().join(format!("{kind}-{threads}"));
        listed(bench, "memory", threads, Arc::new(MemoryCheckpointer::new()));
        listed(bench, "sled", threads, Arc::new(SledCheckpointer::open(at("sled")).unwrap()));
        listed(bench, "fjall", threads, Arc::new(FjallCheckpointer::open(at("fjall")).unwrap()));
    }
}

/// Measures a list of the few threads that are pending among finished ones.
fn listed(bench: &Bench, kind: &str, threads: u64, store: Arc<dyn Checkpointer>) {
    let graph = two_node_loop(2).with_shared_checkpointer(Arc::clone(&store));
    for nth in 0..threads {
        let thread = graph.thread(format!("t-{nth:06}")).durability(Durability::Exit);
        let thread = if nth % (threads / PENDING).max(1) == 0 { thread.max_supersteps(1) } else { thread };
        bench.lone.block_on(thread.invoke(Writes::default())).unwrap();
    }
    let pending = ThreadFilter::new().status(StatusKind::Pending);
    for (what, filter, target) in [
        ("pending", pending, "<= 1000, flat"),
        ("first", ThreadFilter::new().limit(20), "<= 50000"),
        ("newest", ThreadFilter::new().newest(20), "<= 1000, flat"),
    ] {
        let found = bench.lone.block_on(filter.page(&*store)).unwrap().threads.len();
        let listed = bench.each(|| {
            assert_eq!(bench.lone.block_on(filter.page(&*store)).unwrap().threads.len(), found);
            1
        });
        let what = format!("{found} {what} of {threads} threads listed, {kind} store");
        bench.print(&Figure::wall("listed", what, listed).target(target));
    }
}
