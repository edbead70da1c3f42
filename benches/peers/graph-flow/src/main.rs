//! The workloads on graph-flow. It keeps a session as one value that is overwritten, so "memory" keeps no history.

#[path = "../../measure.rs"]
mod measure;

use std::sync::Arc;

use async_trait::async_trait;
use graph_flow::fanout::FanOutTask;
use graph_flow::{
    Context, ExecutionStatus, FlowRunner, Graph, GraphBuilder, InMemorySessionStorage, NextAction, Result, Session, SessionStorage,
    Task, TaskResult,
};

use self::measure::Bench;

/// Adds one to a number, and goes on at once or after its session was saved.
struct Count {
    id: String,
    next: NextAction,
}

#[async_trait]
impl Task for Count {
    fn id(&self) -> &str {
        &self.id
    }

    async fn run(&self, context: Context) -> Result<TaskResult> {
        let count: u64 = context.get("count").unwrap_or_default();
        context.set("count", count + 1)?;
        Ok(TaskResult::new(None, self.next.clone()))
    }
}

fn count(id: String, next: NextAction) -> Arc<dyn Task> {
    Arc::new(Count { id, next })
}

fn chain(nodes: u64, next: NextAction) -> Arc<Graph> {
    let mut graph = GraphBuilder::new("chain");
    for nth in 0..nodes {
        let next = if nth + 1 == nodes { NextAction::End } else { next.clone() };
        graph = graph.add_task(count(format!("n{nth:04}"), next));
    }
    for nth in 1..nodes {
        graph = graph.add_edge(format!("n{:04}", nth - 1), format!("n{nth:04}"));
    }
    Arc::new(graph.build().expect("a graph"))
}

fn two_node_loop(rounds: u64) -> Graph {
    let next = NextAction::ContinueAndExecute;
    let again = move |context: &Context| context.get::<u64>("count").unwrap_or_default() < 2 * rounds;
    GraphBuilder::new("loop")
        .add_task(count("ping".into(), next.clone()))
        .add_task(count("pong".into(), next))
        .add_task(count("end".into(), NextAction::End))
        .add_edge("ping", "pong")
        .add_conditional_edge("pong", again, "ping", "end")
        .build()
        .expect("a graph")
}

/// A task, the children of a fan-out, and a task after them.
fn fan_out(width: u64, next: NextAction) -> Arc<Graph> {
    let children = (0..width).map(|nth| count(format!("page{nth}"), NextAction::Continue)).collect();
    let graph = GraphBuilder::new("fan-out")
        .add_task(count("split".into(), next.clone()))
        .add_task(FanOutTask::new("fetch", children).with_next_action(next))
        .add_task(count("sum".into(), NextAction::End))
        .add_edge("split", "fetch")
        .add_edge("fetch", "sum");
    Arc::new(graph.build().expect("a graph"))
}

async fn run(graph: &Graph, first: &str) {
    let mut session = Session::new_from_task("session".into(), first);
    let ended = graph.execute_session(&mut session).await.expect("a run");
    assert!(matches!(ended.status, ExecutionStatus::Completed));
}

type Kept = (FlowRunner, Arc<InMemorySessionStorage>);

fn kept(graph: &Arc<Graph>) -> Kept {
    let store = Arc::new(InMemorySessionStorage::new());
    (FlowRunner::new(Arc::clone(graph), store.clone()), store)
}

/// Runs a session from a store, which keeps it after each task.
async fn run_kept((runner, store): &Kept, first: &str, nth: u64) {
    let name = format!("t{nth}");
    store.save(Session::new_from_task(name.clone(), first)).await.expect("a session");
    while !matches!(runner.run(&name).await.expect("a run").status, ExecutionStatus::Completed) {}
}

fn main() {
    let bench = Bench::new();
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes, NextAction::ContinueAndExecute);
        bench.measure(&format!("W1 chain {nodes}, no store"), nodes, || (), async |(), _| run(&graph, "n0000").await);
    }
    let graph = two_node_loop(1000);
    bench.measure("W3 loop of 2 nodes and a router, no store", 2000, || (), async |(), _| run(&graph, "ping").await);
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes, NextAction::Continue);
        bench.measure(&format!("W2 chain {nodes}, memory"), nodes, || kept(&graph), async |kept, nth| run_kept(kept, "n0000", nth).await);
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width, NextAction::ContinueAndExecute);
        bench.measure(&format!("W4 fan-out {width}, no store"), width, || (), async |(), _| run(&graph, "split").await);
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width, NextAction::Continue);
        bench.measure(&format!("W4 fan-out {width}, memory"), width, || kept(&graph), async |kept, nth| run_kept(kept, "split", nth).await);
    }
}
