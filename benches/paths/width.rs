//! Wide supersteps: fan-out by edges without a store, sends into a memory store.

use std::sync::Arc;

use superstep::graph::{Name, Request};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::{Tally, count, fan_out, tally_chain};
use super::harness::Bench;

pub(crate) fn run(bench: &Bench) {
    for width in [100, bench.pick([1000, 1000, 10]), bench.pick([10_000, 10_000, 20])] {
        let graph = edges(width);
        let timing = bench.measure(&bench.lone, width, async || {
            graph.invoke(Writes::default()).await.unwrap();
        });
        let what = format!("fan-out by edges to {width} nodes, per node");
        bench.print(&Figure::cpu("width", what, timing).target("<= 1.5, flat"));
    }
    for width in [100, bench.pick([1000, 1000, 10]), bench.pick([10_000, 10_000, 20])] {
        let graph = fan_out(width, false);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, width, new, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.unwrap();
        });
        let what = format!("sends to {width} workers, memory store, per worker");
        bench.print(&Figure::cpu("width", what, timing).target("flat"));
    }
    for length in [100, bench.pick([1000, 1000, 10])] {
        let graph = tally_chain(length);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, length, new, async |graph, nth| {
            graph.thread(format!("t{nth}")).recursion_limit(length + 2).invoke(Writes::default()).await.unwrap();
        });
        let what = format!("chain of {length}, memory store, per step");
        bench.print(&Figure::cpu("width", what, timing).target("<= 2"));
    }
    questions(bench);
}

/// Asks as many questions at once, and answers them at once.
fn questions(bench: &Bench) {
    for width in [100, bench.pick([5000, 5000, 10])] {
        let graph = asking(width);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, width, new, async |graph, nth| {
            let thread = graph.thread(format!("t{nth}"));
            let asked = thread.invoke(Writes::default()).await.unwrap();
            let answers = asked.questions().iter().map(|asked| Answer::new::<Approve>(&true).to(asked.id()));
            thread.run(Request::answers(answers)).await.unwrap();
        });
        let what = format!("{width} questions asked and answered at once, memory store, per question");
        bench.print(&Figure::cpu("width", what, timing).target("flat"));
    }
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve;

fn asking(width: u64) -> CompiledGraph<Tally, Name> {
    let ask = |_: Arc<Tally>, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(())
    };
    let graph = (0..width)
        .fold(StateGraph::new(), |graph, nth| graph.add_node(id(nth), ask.asks::<Approve>()).add_edge(START, id(nth)));
    graph.compile().unwrap()
}

fn id(nth: u64) -> Name {
    Name::from(format!("n{nth:06}"))
}

/// One node with edges to many, which lead to one.
fn edges(width: u64) -> CompiledGraph<Tally, Name> {
    let graph = StateGraph::new().add_node(Name::from("split"), count).add_node(Name::from("end"), count);
    let graph = (0..width).fold(graph.add_edge(START, Name::from("split")), |graph, nth| {
        graph.add_node(id(nth), count).add_edge(Name::from("split"), id(nth)).add_edge(id(nth), Name::from("end"))
    });
    graph.compile().unwrap()
}
