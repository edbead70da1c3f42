//! W3: two nodes and a router in a loop without a store, CPU per superstep.

use super::chain::detached;
use super::figure::Figure;
use super::graphs::two_node_loop;
use super::harness::Bench;
use super::limits;

pub(crate) fn run(bench: &Bench) {
    let limit = limits::boxed_await(bench).cpu;
    for rounds in [10, 100, 1000] {
        let timing = detached(bench, &bench.lone, 2 * rounds, &two_node_loop(rounds));
        let figure = Figure::cpu("W3", format!("two-node loop, router, {rounds} rounds, per superstep"), timing);
        bench.print(&figure.limit(limit).target("<= 0.5, aim 0.3, flat"));
    }
}
