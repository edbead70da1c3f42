//! W1: a chain of trivial nodes without a store, CPU per superstep.

use std::hint::black_box;

use superstep::graph::{CompiledGraph, NodeId, State, Writes};
use tokio::runtime::Runtime;

use super::figure::Figure;
use super::graphs::{chain, data_chain, nothing, tally_chain, three};
use super::harness::Bench;
use super::limits;
use super::measure::Timing;

pub(crate) fn run(bench: &Bench) {
    let limit = limits::boxed_await(bench);
    let show = |what: &str, timing: Timing, target| {
        bench.print(&Figure::cpu("W1", what, timing).limit(limit.cpu).target(target));
    };
    for nodes in [10, 100, 1000] {
        let timing = detached(bench, &bench.lone, nodes, &tally_chain(nodes));
        show(&format!("chain of {nodes}, one write, per superstep"), timing, "<= 0.5, aim 0.3, flat");
    }
    for nodes in [100, 1000] {
        let timing = bench.measure(&bench.lone, nodes, async || drop(black_box(tally_chain(nodes))));
        bench.print(&Figure::cpu("W1", format!("compile a chain of {nodes}, per node"), timing).target("flat"));
    }
    let nodes = 100;
    show("chain of 100, no write", detached(bench, &bench.lone, nodes, &chain((), nodes, nothing)), "");
    show("chain of 100, three writes", detached(bench, &bench.lone, nodes, &chain((), nodes, three)), "");
    show("chain of 100, channels read from data", detached(bench, &bench.lone, nodes, &data_chain(nodes)), "");
    show("chain of 100, two worker threads", detached(bench, &bench.pool, nodes, &tally_chain(nodes)), "");
}

/// Measures repeated runs of a graph without a store.
pub(crate) fn detached<S: State, N: NodeId>(
    bench: &Bench,
    runtime: &Runtime,
    units: u64,
    graph: &CompiledGraph<S, N>,
) -> Timing {
    bench.measure(runtime, units, async || {
        let outcome = graph.invoke(Writes::default()).await.unwrap();
        black_box(outcome.finished().unwrap());
    })
}
