//! W4: sends to workers, CPU per worker.

use superstep::prelude::*;

use super::chain::detached;
use super::figure::Figure;
use super::graphs::fan_out;
use super::harness::Bench;
use super::limits;

const READY: &str = "<= 1, flat";
const SUSPENDS: &str = "<= 5, flat";

pub(crate) fn run(bench: &Bench) {
    let (lone, pool) = (&bench.lone, &bench.pool);
    let limit = limits::join_set(bench, lone).cpu;
    let pool_limit = limits::join_set(bench, pool).cpu;
    for width in [10, 100, 1000, bench.pick([10_000, 10_000, 20])] {
        let timing = detached(bench, lone, width, &fan_out(width, false));
        let what = format!("fan-out {width}, ready at first poll, per worker");
        bench.print(&Figure::cpu("W4", what, timing).limit(limit).target(READY));
    }
    for width in [10, 100, 1000, bench.pick([10_000, 10_000, 20])] {
        let timing = detached(bench, lone, width, &fan_out(width, true));
        let what = format!("fan-out {width}, suspends once, one thread");
        bench.print(&Figure::cpu("W4", what, timing).limit(limit).target(SUSPENDS));
    }
    for width in [10, 100, 1000, bench.pick([10_000, 10_000, 20])] {
        let timing = detached(bench, pool, width, &fan_out(width, true));
        let what = format!("fan-out {width}, suspends once, two worker threads");
        bench.print(&Figure::cpu("W4", what, timing).limit(pool_limit).target(SUSPENDS));
    }
    for width in [10, 100, 1000, bench.pick([10_000, 10_000, 20])] {
        let graph = fan_out(width, false);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(lone, width, new, async |graph, nth| {
            let thread = graph.thread(format!("t{nth}"));
            thread.invoke(Writes::default()).await.unwrap();
        });
        let what = format!("fan-out {width}, ready at first poll, memory store");
        bench.print(&Figure::cpu("W4", what, timing));
    }
}
