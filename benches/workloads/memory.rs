//! W2 with the memory store: a real snapshot of each superstep, CPU per superstep.

use superstep::graph::{NodeId, State};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::{chain, data_chain, nothing, tally_chain, three};
use super::harness::Bench;
use super::limits;
use super::measure::Timing;

pub(crate) fn run(bench: &Bench) {
    let limit = limits::encode(bench).cpu;
    let show = |what: &str, timing: Timing, target| {
        bench.print(&Figure::cpu("W2", what, timing).limit(limit).target(target));
    };
    for nodes in [10, 100, 1000] {
        let timing = stored(bench, nodes, &tally_chain(nodes), Durability::Sync);
        show(&format!("chain of {nodes}, memory store, one write, per superstep"), timing, "<= 2");
    }
    let nodes = 100;
    let graph = tally_chain(nodes);
    show("chain of 100, no write", stored(bench, nodes, &chain((), nodes, nothing), Durability::Sync), "");
    show("chain of 100, three writes", stored(bench, nodes, &chain((), nodes, three), Durability::Sync), "");
    show("chain of 100, channels read from data", stored(bench, nodes, &data_chain(nodes), Durability::Sync), "");
    show("chain of 100, durability async", stored(bench, nodes, &graph, Durability::Async), "");
    show("chain of 100, durability exit", stored(bench, nodes, &graph, Durability::Exit), "");
}

/// Runs a graph on a new store for each batch, each run on its own thread.
fn stored<S: State, N: NodeId>(
    bench: &Bench,
    units: u64,
    graph: &CompiledGraph<S, N>,
    durability: Durability,
) -> Timing {
    let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure_on(&bench.lone, units, new, async |graph, nth| {
        let thread = graph.thread(format!("t{nth}")).durability(durability);
        thread.invoke(Writes::default()).await.unwrap();
    })
}
