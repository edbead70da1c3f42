//! The workloads on adk-graph. It has no sends, so a fan-out is as wide as the graph.

#[path = "../../measure.rs"]
mod measure;

use adk_graph::{
    CompiledGraph, DeferredNodeConfig, END, ExecutionConfig, MemoryCheckpointer, NodeContext, NodeOutput, Result, START, State,
    StateGraph, StateSchema,
};

use self::measure::Bench;

async fn count(_: NodeContext) -> Result<NodeOutput> {
    Ok(NodeOutput::new().with_update("count", 1))
}

fn new() -> StateGraph {
    StateGraph::new(StateSchema::builder().counter_channel("count").build())
}

fn compile(graph: StateGraph) -> CompiledGraph {
    graph.compile().expect("a graph").with_recursion_limit(1_000_000)
}

fn chain(nodes: u64) -> CompiledGraph {
    let id = |nth: u64| format!("n{nth:04}");
    let mut graph = new().add_edge(START, &id(0));
    for nth in 0..nodes {
        graph = graph.add_node_fn(&id(nth), count);
    }
    for nth in 1..nodes {
        graph = graph.add_edge(&id(nth - 1), &id(nth));
    }
    compile(graph.add_edge(&id(nodes - 1), END))
}

fn two_node_loop(rounds: u64) -> CompiledGraph {
    let again = move |state: &State| {
        let count = state.get("count").and_then(|count| count.as_f64()).unwrap_or_default();
        if count < (2 * rounds) as f64 { "again" } else { "end" }.to_owned()
    };
    let graph = new().add_node_fn("ping", count).add_node_fn("pong", count);
    let graph = graph.add_edge(START, "ping").add_edge("ping", "pong");
    compile(graph.add_conditional_edges("pong", again, [("again", "ping"), ("end", END)]))
}

fn fan_out(width: u64) -> CompiledGraph {
    let mut graph = new().add_node_fn("split", count).add_edge(START, "split");
    for nth in 0..width {
        let id = format!("page{nth}");
        graph = graph.add_node_fn(&id, count).add_edge("split", &id).add_edge(&id, "sum");
    }
    compile(graph.add_deferred_node_fn("sum", count, DeferredNodeConfig::default()).add_edge("sum", END))
}

async fn run(graph: &CompiledGraph, nth: u64) {
    let config = ExecutionConfig::new(&format!("t{nth}")).with_recursion_limit(1_000_000);
    graph.invoke(State::new(), config).await.expect("a run");
}

fn main() {
    let bench = Bench::new();
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes);
        bench.measure(&format!("W1 chain {nodes}, no store"), nodes, async || (), async |(), nth| run(&graph, nth).await);
    }
    let graph = two_node_loop(1000);
    bench.measure("W3 loop of 2 nodes and a router, no store", 2000, async || (), async |(), nth| run(&graph, nth).await);
    for nodes in [10, 100, 1000] {
        let stored = async || chain(nodes).with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W2 chain {nodes}, memory"), nodes, stored, async |graph, nth| run(graph, nth).await);
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width);
        bench.measure(&format!("W4 fan-out {width}, no store"), width, async || (), async |(), nth| run(&graph, nth).await);
    }
    for width in [10, 100, 1000] {
        let stored = async || fan_out(width).with_checkpointer(MemoryCheckpointer::new());
        bench.measure(&format!("W4 fan-out {width}, memory"), width, stored, async |graph, nth| run(graph, nth).await);
    }
}
