//! The workloads on superstep.

#[allow(dead_code, reason = "the benchmarks of the workspace have more graphs")]
#[path = "../../../workloads/graphs.rs"]
mod graphs;
#[path = "../../measure.rs"]
mod measure;

use std::sync::Arc;

use superstep::graph::state::Kind;
use superstep::graph::{DataSchema, DataState, Name};
use superstep::prelude::*;
use tokio::task::JoinSet;

use self::graphs::{chain, fan_out, tally_chain, two_node_loop};
use self::measure::Bench;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Wide {
    n: u64,
    blob: String,
}

/// Twenty supersteps that write one channel beside a large one.
fn wide() -> CompiledGraph<Wide, Name> {
    chain((), 20, async |wide: Arc<Wide>, _: Ctx| Ok::<_, NodeError>(Wide::update().n(wide.n + 1)))
}

/// Twenty supersteps that write one channel of many.
fn many(schema: &DataSchema) -> CompiledGraph<DataState, Name> {
    let write = schema.write("k1", "y".repeat(100).into()).expect("a channel");
    let body = move |_: Arc<DataState>, _: Ctx| {
        let write = write.clone();
        async move { Ok::<_, NodeError>(Writes::<DataState>(vec![write])) }
    };
    chain(schema.clone(), 20, body)
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Talk {
    #[channel(append)]
    messages: Vec<String>,
}

fn talk() -> CompiledGraph<Talk, Name> {
    let reply = async |_: Arc<Talk>, _: Ctx| Ok::<_, NodeError>(Talk::update().messages(["m".repeat(1024)]));
    chain((), 1, reply)
}

fn main() {
    let bench = Bench::new();
    for nodes in [10, 100, 1000] {
        let graph = tally_chain(nodes);
        bench.measure(&format!("W1 chain {nodes}, no store"), nodes, async || (), async |(), _| {
            graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    let graph = two_node_loop(1000);
    bench.measure("W3 loop of 2 nodes and a router, no store", 2000, async || (), async |(), _| {
        graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
    });
    for nodes in [10, 100, 1000] {
        let graph = tally_chain(nodes);
        let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W2 chain {nodes}, memory"), nodes, stored, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width, false);
        bench.measure(&format!("W4 fan-out {width}, no store"), width, async || (), async |(), _| {
            graph.invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width, false);
        let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W4 fan-out {width}, memory"), width, stored, async |graph, nth| {
            graph.thread(format!("t{nth}")).invoke(Writes::default()).await.expect("a run").finished().expect("its end");
        });
    }
    for kib in [1, 1024] {
        let graph = wide();
        let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W5 beside {kib} KiB, memory"), 20, stored, async |graph, nth| {
            let input = Wide::update().blob("x".repeat(kib << 10));
            graph.thread(format!("t{nth}")).invoke(input).await.expect("a run");
        });
    }
    let names = || (0..300).map(|nth| format!("k{nth}"));
    let schema = DataSchema::new(names().map(|name| (name, Kind::LastValue))).expect("a schema");
    let value = |name: String| schema.write(&name, "x".repeat(100).into()).expect("a channel");
    let (graph, input) = (many(&schema), Writes::<DataState>(names().map(value).collect()));
    let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure("W5 one of 300 fields, memory", 20, stored, async |graph, nth| {
        graph.thread(format!("t{nth}")).invoke(input.clone()).await.expect("a run");
    });
    let graph = talk();
    let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure("W6 1,000 turns of 1 KiB, memory", 1000, stored, async |graph, nth| {
        for _ in 0..1000 {
            graph.thread(format!("t{nth}")).invoke(Talk::update()).await.expect("a run");
        }
    });
    let graph = tally_chain(10);
    let stored = async || graph.clone().with_checkpointer(MemoryCheckpointer::new());
    bench.measure("W8 1,000 threads of 10, memory", 10_000, stored, async |graph, nth| {
        let mut running = JoinSet::new();
        for thread in 0..1000 {
            let thread = graph.thread(format!("t{nth}-{thread}"));
            running.spawn(async move { thread.invoke(Writes::default()).await.expect("a run").finished().is_some() });
        }
        while running.join_next().await.is_some() {}
    });
    let graph = tally_chain(1000);
    let ended = async || {
        let graph = graph.clone().with_checkpointer(MemoryCheckpointer::new());
        graph.thread("t").invoke(Writes::default()).await.expect("a run");
        graph
    };
    bench.measure("W10 history of 1,000 checkpoints, memory", 1000, ended, async |graph, _| {
        graph.thread("t").history().await.expect("a history").all().await.expect("checkpoints");
    });
}
