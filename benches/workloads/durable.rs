//! W2 on disk: wall time per superstep, against a bare sled that writes and syncs the same bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use superstep::graph::Name;
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::{Tally, tally_chain};
use super::harness::Bench;
use super::limits;
use super::measure::{Spread, Timing};
use super::replay::{BareSled, Recording, Values};

const TARGET: &str = "<= 1.2x bare sled, 1 commit";

pub(crate) fn run(bench: &Bench) {
    let (appended, overwritten) = limits::file_sync(bench);
    bench.print(&Figure::wall("W2", "limit: append 200 bytes to a file, fdatasync", appended));
    bench.print(&Figure::wall("W2", "limit: overwrite 200 bytes of a file, fdatasync", overwritten));
    for nodes in [10, 100] {
        let pair = Pair::new(bench, nodes);
        let (ours, bare) = pair.race(bench);
        let what = format!("chain of {nodes}, durable sync, per superstep");
        bench.print(&Figure::wall("W2", what.clone(), ours).limit(bare.wall).target(TARGET));
        bench.print(&Figure::cpu("W2", what, ours).limit(bare.cpu));
        let per_step = |total: usize| Spread::exact(total as f64 / nodes as f64);
        let bytes = pair.commits.iter().flatten().map(Vec::len).sum();
        let commits = per_step(pair.commits.len());
        bench.print(&Figure::new("W2", format!("chain of {nodes}, commits per superstep"), commits, "commits"));
        bench.print(&Figure::new(
            "W2",
            format!("chain of {nodes}, value bytes per superstep"),
            per_step(bytes),
            "bytes",
        ));
    }
    for (name, durability) in [("async", Durability::Async), ("exit", Durability::Exit)] {
        let pair = Pair { durability, ..Pair::new(bench, 100) };
        let timing = pair.ours(bench);
        bench.print(&Figure::wall("W2", format!("chain of 100, durable {name}, per superstep"), timing));
    }
}

/// Our store and a bare sled, side by side.
struct Pair {
    graph: CompiledGraph<Tally, Name>,
    nodes: u64,
    durability: Durability,
    /// The commits of one run.
    commits: Vec<Values>,
    threads: AtomicU64,
}

impl Pair {
    fn new(bench: &Bench, nodes: u64) -> Self {
        let graph = tally_chain(nodes);
        let recording = Recording::default();
        let recorded = graph.clone().with_checkpointer(recording.clone()).thread("t-000000");
        bench.lone.block_on(recorded.invoke(Writes::default())).unwrap();
        Self { graph, nodes, durability: Durability::Sync, commits: recording.take(), threads: AtomicU64::new(0) }
    }

    fn race(&self, bench: &Bench) -> (Timing, Timing) {
        let (our_folder, bare_folder) = (bench.folder(), bench.folder());
        let graph = self.stored(our_folder.path());
        let mut bare = BareSled::open(bare_folder.path());
        let rounds = self.rounds(bench);
        bench.race(rounds, self.nodes, |_| self.run(bench, &graph), |_| bare.write(&self.commits))
    }

    fn ours(&self, bench: &Bench) -> Timing {
        let folder = bench.folder();
        let graph = self.stored(folder.path());
        bench.race(self.rounds(bench), self.nodes, |_| self.run(bench, &graph), |_| ()).0
    }

    fn rounds(&self, bench: &Bench) -> u64 {
        bench.pick([4000, 1000, self.nodes]) / self.nodes
    }

    fn stored(&self, folder: &std::path::Path) -> CompiledGraph<Tally, Name> {
        self.graph.clone().with_checkpointer(SledCheckpointer::open(folder).unwrap())
    }

    fn run(&self, bench: &Bench, graph: &CompiledGraph<Tally, Name>) {
        let nth = self.threads.fetch_add(1, Ordering::Relaxed);
        let thread = graph.thread(format!("t-{nth:06}")).durability(self.durability);
        bench.lone.block_on(thread.invoke(Writes::default())).unwrap();
    }
}
