//! W10: the history of a thread of a thousand checkpoints, read from disk.

use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::two_node_loop;
use super::harness::Bench;
use super::measure::Timing;

pub(crate) fn run(bench: &Bench) {
    let folder = bench.folder();
    let open = || SledCheckpointer::open(folder.path()).unwrap();
    let thread = two_node_loop(bench.pick([500, 500, 5])).with_checkpointer(open()).thread("history");
    bench.lone.block_on(thread.durability(Durability::Async).invoke(Writes::default())).unwrap();

    let thread = two_node_loop(1).with_checkpointer(open()).thread("history");
    let states = each(bench, async || thread.history().await.unwrap().all().await.unwrap().len());
    bench.print(&Figure::cpu("W10", "history of 1000 checkpoints, per checkpoint", states).target("<= 5"));
    let infos = each(bench, async || thread.history().await.unwrap().metadata_only().await.unwrap().len());
    bench.print(&Figure::cpu("W10", "the same, metadata only", infos).target("<= 1"));
}

/// Times a listing, per listed checkpoint.
fn each(bench: &Bench, list: impl AsyncFn() -> usize) -> Timing {
    bench.each(|| bench.lone.block_on(list()) as u64)
}
