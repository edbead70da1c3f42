//! An essay that a person approves, in two processes: `readme` asks and ends, `readme yes` goes on where it stopped.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    topic: String,
    text: String,
    approved: bool,
}

#[derive(NodeId)]
enum Step {
    Write,
    Review,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve(String);

async fn write(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update().text(format!("All about {}.", draft.topic)))
}

async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    let approved = ctx.interrupt(Approve(draft.text.clone()))?; // stops here until somebody has answered
    Ok(Draft::update().approved(approved))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = StateGraph::new()
        .add_node(Step::Write, write)
        .add_node(Step::Review, review.asks::<Approve>())
        .add_sequence([Step::Write, Step::Review])
        .compile()?
        .with_checkpointer(SledCheckpointer::open("readme.sled")?);
    let thread = graph.thread("essay-1");
    let outcome = match std::env::args().nth(1) {
        None => thread.invoke(Draft::update().topic("tides")).await?,
        Some(word) => thread.resume::<Approve>(word == "yes").await?,
    };
    match outcome {
        Outcome::Finished(draft) => println!("approved: {}", draft.approved),
        other => println!("waiting for {other:?}"),
    }
    Ok(())
}
