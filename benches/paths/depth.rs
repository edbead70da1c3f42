//! Subgraphs in subgraphs: a run down to a question, the state of each level, the answer.

use std::sync::Arc;

use superstep::graph::{CompiledGraph, Name};
use superstep::prelude::*;

use super::figure::Figure;
use super::graphs::Tally;
use super::harness::Bench;

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve;

pub(crate) fn run(bench: &Bench) {
    for depth in [5, bench.pick([50, 50, 6])] {
        let graph = nested(depth);
        let new = || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        let timing = bench.measure_on(&bench.lone, depth, new, async |graph, nth| {
            let thread = graph.thread(format!("t{nth}"));
            thread.invoke(Writes::default()).await.unwrap();
            thread.resume::<Approve>(true).await.unwrap();
        });
        let what = format!("a question {depth} subgraphs deep, asked and answered, per subgraph");
        bench.print(&Figure::cpu("depth", what, timing).target("flat"));

        let thread = new().thread("t");
        bench.lone.block_on(thread.invoke(Writes::default())).unwrap();
        let timing = bench.each(|| {
            assert!(bench.lone.block_on(thread.state_deep()).unwrap().is_some());
            depth
        });
        let what = format!("state_deep() of {depth} subgraphs in each other, per subgraph");
        bench.print(&Figure::cpu("depth", what, timing).target("flat"));
    }
}

/// Returns a graph that asks this many subgraphs deep.
fn nested(depth: u64) -> CompiledGraph<Tally, Name> {
    let ask = |_: Arc<Tally>, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(())
    };
    let lowest = StateGraph::new().add_node(id("ask"), ask.asks::<Approve>()).add_edge(START, id("ask"));
    let within = |graph: StateGraph<Tally, Name>, _| {
        let inner = graph.compile().unwrap();
        StateGraph::new().add_subgraph(id("inner"), inner).add_edge(START, id("inner"))
    };
    (0..depth).fold(lowest, within).compile().unwrap()
}

fn id(name: &str) -> Name {
    Name::from(name.to_owned())
}
