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

use tokio::task::JoinSet;

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

type StoredRunner = (FlowRunner, Arc<InMemorySessionStorage>);

fn open_runner(graph: &Arc<Graph>) -> StoredRunner {
    let store = Arc::new(InMemorySessionStorage::new());
    (FlowRunner::new(Arc::clone(graph), store.clone()), store)
}

/// Runs a session from a store, which keeps it after each task.
async fn run_stored((runner, store): &StoredRunner, first: &str, nth: u64) {
    let name = format!("t{nth}");
    store.save(Session::new_from_task(name.clone(), first)).await.expect("a session");
    while !matches!(runner.run(&name).await.expect("a run").status, ExecutionStatus::Completed) {}
}

/// Adds a message of 1 KiB to the conversation.
struct Reply;

#[async_trait]
impl Task for Reply {
    fn id(&self) -> &str {
        "reply"
    }

    async fn run(&self, context: Context) -> Result<TaskResult> {
        context.add_user_message("m".repeat(1024));
        Ok(TaskResult::new(None, NextAction::End))
    }
}

/// Runs twenty tasks beside values that nobody touches.
async fn run_beside((runner, store): &StoredRunner, values: u64, bytes: usize, nth: u64) {
    let session = Session::new_from_task(format!("t{nth}"), "n0000");
    for value in 0..values {
        session.context.set(format!("k{value}"), "x".repeat(bytes)).expect("a value");
    }
    store.save(session).await.expect("a session");
    while !matches!(runner.run(&format!("t{nth}")).await.expect("a run").status, ExecutionStatus::Completed) {}
}

fn main() {
    let bench = Bench::new();
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes, NextAction::ContinueAndExecute);
        bench.measure(&format!("W1 chain {nodes}, no store"), nodes, async || (), async |(), _| run(&graph, "n0000").await);
    }
    let graph = two_node_loop(1000);
    bench.measure("W3 loop of 2 nodes and a router, no store", 2000, async || (), async |(), _| run(&graph, "ping").await);
    for nodes in [10, 100, 1000] {
        let graph = chain(nodes, NextAction::Continue);
        bench.measure(&format!("W2 chain {nodes}, memory"), nodes, async || open_runner(&graph), async |stored, nth| run_stored(stored, "n0000", nth).await);
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width, NextAction::ContinueAndExecute);
        bench.measure(&format!("W4 fan-out {width}, no store"), width, async || (), async |(), _| run(&graph, "split").await);
    }
    for width in [10, 100, 1000] {
        let graph = fan_out(width, NextAction::Continue);
        bench.measure(&format!("W4 fan-out {width}, memory"), width, async || open_runner(&graph), async |stored, nth| run_stored(stored, "split", nth).await);
    }
    let graph = chain(20, NextAction::Continue);
    for kib in [1, 1024] {
        let name = format!("W5 beside {kib} KiB, memory");
        bench.measure(&name, 20, async || open_runner(&graph), async |stored, nth| run_beside(stored, 1, kib << 10, nth).await);
    }
    let name = "W5 one of 300 fields, memory";
    bench.measure(name, 20, async || open_runner(&graph), async |stored, nth| run_beside(stored, 300, 100, nth).await);
    let graph = Arc::new(GraphBuilder::new("talk").add_task(Arc::new(Reply)).build().expect("a graph"));
    bench.measure("W6 1,000 turns of 1 KiB, memory", 1000, async || open_runner(&graph), async |(runner, store), nth| {
        let name = format!("t{nth}");
        store.save(Session::new_from_task(name.clone(), "reply")).await.expect("a session");
        for _ in 0..1000 {
            runner.run(&name).await.expect("a run");
        }
    });
    let graph = chain(10, NextAction::Continue);
    let shared = async || Arc::new(open_runner(&graph));
    bench.measure("W8 1,000 threads of 10, memory", 10_000, shared, async |shared, nth| {
        let mut running = JoinSet::new();
        for thread in 0..1000 {
            let shared = Arc::clone(shared);
            running.spawn(async move { run_stored(&shared, "n0000", nth * 1000 + thread).await });
        }
        while running.join_next().await.is_some() {}
    });
}
