//! A ladder of joins: two nodes a rung, joined by both of the next. A rung must not cost more the longer the ladder is.

use superstep::graph::Name;
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::{Tally, count};
use super::harness::Bench;

pub(crate) fn run(bench: &Bench) {
    for rungs in [30, bench.pick([300, 300, 5]), bench.pick([3000, 3000, 6])] {
        let graph = ladder(rungs);
        let timing = bench.measure(&bench.lone, rungs, async || {
            graph.invoke(Writes::default()).await.unwrap();
        });
        bench.print(&Figure::cpu("joins", format!("ladder of {rungs} rungs, per step"), timing).target("<= 2, flat"));
    }
    for rungs in [30, bench.pick([3000, 3000, 6])] {
        let graph = ladder(rungs);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, rungs, new, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.unwrap();
        });
        let what = format!("ladder of {rungs} rungs, memory store, per step");
        bench.print(&Figure::cpu("joins", what, timing).target("flat"));
    }
}

fn ladder(rungs: u64) -> CompiledGraph<Tally, Name> {
    let id = |side: &str, nth: u64| Name::from(format!("{side}{nth:06}"));
    let graph = (0..rungs)
        .fold(StateGraph::new(), |graph, nth| graph.add_node(id("a", nth), count).add_node(id("b", nth), count));
    let graph = (1..rungs).fold(graph, |graph, nth| {
        let both = [id("a", nth - 1), id("b", nth - 1)];
        graph.add_edge(both.clone(), id("a", nth)).add_edge(both, id("b", nth))
    });
    let graph = graph.add_edge(START, id("a", 0)).add_edge(START, id("b", 0));
    graph.compile().unwrap().recursion_limit(rungs + 2)
}
