//! One mistake is one message: what uses a type with a mistake in its derive is no error too.

use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    topic: String,
    #[channel(apend)]
    notes: Vec<String>,
    #[channel(add)]
    rounds: u32,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Pair(u32, u32);

#[derive(NodeId)]
enum Step {
    Write,
    #[node(name = "")]
    Review,
    Publish,
}

#[derive(NodeId)]
enum Inner {
    Do(u32),
}

#[derive(Route)]
enum AfterReview {
    #[to(Step::Write)]
    Again,
    Enough,
}

#[derive(Interrupt, Serialize, Deserialize)]
struct Approve(String);

#[derive(Signal, Serialize, Deserialize)]
#[signal(title = "stop")]
struct Stop;

async fn write(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    ctx.receive::<Stop>().await?;
    Ok(Draft::update().topic(draft.topic.as_str()).notes(["a note"]).rounds(1))
}

async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<Command<Draft, Step>, NodeError> {
    let approved = ctx.interrupt(Approve(draft.topic.clone()))?;
    let next = if approved { Step::Publish } else { Step::Write };
    Ok(Command::update(Draft::update()).goto(next))
}

async fn publish(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

async fn count(_: Arc<Pair>, _: Ctx) -> Result<PairUpdate, NodeError> {
    Ok(Pair::update())
}

fn after_review(draft: &Draft) -> AfterReview {
    if draft.notes.len() < 3 { AfterReview::Again } else { AfterReview::Enough }
}

fn main() {
    let graph = StateGraph::new()
        .add_node(Step::Write, write.receives::<Stop>())
        .add_node(Step::Review, review.asks::<Approve>())
        .add_node(Step::Publish, publish)
        .add_sequence([Step::Write, Step::Review])
        .add_conditional_edges(Step::Review, after_review)
        .compile();
    let graph = graph.unwrap().with_checkpointer(MemoryCheckpointer::new());
    let _ = graph.thread("t").invoke(Draft::update().topic("tides"));
    let _ = StateGraph::new().add_node(Inner::Do(1), count).compile();
}
