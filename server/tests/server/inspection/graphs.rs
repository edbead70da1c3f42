//! A graph with all that a task may leave behind: effects, a failed attempt, a subgraph, parallel tasks, an open question, a secret.
//! Must not know routes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::graph::{Graphs, RetryPolicy};
use superstep::prelude::*;

/// The value of the secret channel.
pub(super) const SECRET: &str = "correct-horse-battery";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(super) struct Work {
    topic: String,
    #[channel(append)]
    found: Vec<String>,
    text: Option<String>,
    notes: Option<Value>,
    #[channel(secret)]
    token: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Gather,
    Dig,
    Read,
    Write,
    Publish,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Inner {
    Look,
    Deeper,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Innermost {
    Touch,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Page {
    number: u32,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "publish")]
struct Ask {
    text: String,
}

const READ: Worker<Step, Page> = Worker::new(Step::Read);

/// Fails once, after an effect.
async fn gather(work: Arc<Work>, ctx: Ctx) -> Result<WorkUpdate, NodeError> {
    let fetch = |_key| async { Ok::<_, NodeError>(format!("about {}", work.topic)) };
    let page: String = ctx.effect("fetch", &work.topic, fetch).await?;
    ctx.emit(json!({ "fetched": page })).await;
    if ctx.attempt() < 2 {
        return Err(NodeError::transient(format!("{} was not enough", work.token)));
    }
    Ok(Work::update().found([page]))
}

async fn look(_: Arc<Work>, ctx: Ctx) -> Result<WorkUpdate, NodeError> {
    let depth: u32 = ctx.effect("measure", &(), |_key| async { Ok::<_, NodeError>(7) }).await?;
    Ok(Work::update().found([format!("depth {depth}")]))
}

async fn touch(_: Arc<Work>, ctx: Ctx) -> Result<WorkUpdate, NodeError> {
    let felt: String = ctx.effect("feel", &(), |_key| async { Ok::<_, NodeError>("stone".to_owned()) }).await?;
    Ok(Work::update().found([felt]))
}

async fn read(page: Arc<Page>, _: Ctx) -> Result<WorkUpdate, NodeError> {
    Ok(Work::update().found([format!("page {}", page.number)]))
}

async fn publish(work: Arc<Work>, ctx: Ctx) -> Result<WorkUpdate, NodeError> {
    let text = format!("{} with {}", work.text.as_deref().unwrap_or_default(), work.token);
    ctx.interrupt(Ask { text })?;
    Ok(Work::update())
}

/// Returns the graph `work`, which writes its text with these words.
pub(super) fn work(words: &'static str) -> Graphs {
    let innermost =
        StateGraph::new().add_node(Innermost::Touch, touch).add_sequence([Innermost::Touch]).compile().unwrap();
    let inner = StateGraph::new()
        .add_node(Inner::Look, look)
        .add_subgraph(Inner::Deeper, innermost.named("innermost"))
        .add_sequence([Inner::Look, Inner::Deeper])
        .compile()
        .unwrap();
    let write = move |work: Arc<Work>, _: Ctx| async move {
        Ok::<_, NodeError>(Work::update().text(Some(format!("{words} {}", work.found.len()))))
    };
    let pages = |_: &Work| READ.each((1..=3).map(|number| Page { number }));
    let graph = StateGraph::new()
        .add_node(Step::Gather, gather.retry(RetryPolicy::attempts(2).pause(Duration::ZERO)))
        .add_subgraph(Step::Dig, inner.named("inner"))
        .add_worker(READ, read)
        .add_node(Step::Write, write.replayable())
        .add_node(Step::Publish, publish.asks::<Ask>())
        .add_sequence([Step::Gather, Step::Dig])
        .add_conditional_edges_to(Step::Dig, pages, READ)
        .add_edge(Step::Read, Step::Write)
        .add_edge(Step::Write, Step::Publish)
        .compile()
        .unwrap();
    Graphs::new().with(graph.named("work"))
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(super) struct Heap {
    data: Option<Value>,
    #[channel(add)]
    count: u32,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Pile {
    Count,
}

/// Returns the graph `heap`, which writes its input once more. If it is `stuck`, its node never ends over the data 1.
pub(super) fn heap(stuck: bool) -> Graphs {
    let count = move |heap: Arc<Heap>, _: Ctx| async move {
        if stuck && heap.data == Some(1.into()) {
            std::future::pending::<()>().await;
        }
        Ok::<_, NodeError>(Heap::update().count(1u32).data(heap.data.clone()))
    };
    let graph =
        StateGraph::new().add_node(Pile::Count, count.replayable()).add_sequence([Pile::Count]).compile().unwrap();
    Graphs::new().with(graph.named("heap"))
}
