//! Fan out, join, router, interrupt: an essay that a person approves, in a single process. See `approval` for two
//! processes.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Draft {
    topic: String,
    text: String,
    approved: bool,
    #[channel(append)]
    notes: Vec<String>,
    #[channel(add)]
    rounds: u32,
}

#[derive(NodeId)]
enum Step {
    Plan,
    Web,
    Papers,
    Write,
    Review,
}

#[derive(Route)]
enum AfterReview {
    #[to(Step::Write)]
    Revise,
    #[to(END)]
    Publish,
}
fn route_after_review(draft: &Draft) -> AfterReview {
    if draft.approved { AfterReview::Publish } else { AfterReview::Revise }
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "approve")]
struct Approve {
    text: String,
}

async fn plan(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}
async fn web(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update().notes([format!("the web on {}", draft.topic)]))
}
async fn papers(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    Ok(Draft::update().notes([format!("papers on {}", draft.topic)]))
}
async fn write(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
    let round = draft.rounds + 1;
    Ok(Draft::update().text(format!("{}, draft {round}, from {} notes", draft.topic, draft.notes.len())).rounds(1))
}
async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    let approved = ctx.interrupt(Approve { text: draft.text.clone() })?;
    Ok(Draft::update().approved(approved))
}

fn graph() -> Result<CompiledGraph<Draft, Step>, CompileError> {
    StateGraph::new()
        .add_node(Step::Plan, plan)
        .add_node(Step::Web, web)
        .add_node(Step::Papers, papers)
        .add_node(Step::Write, write)
        .add_node(Step::Review, review.asks::<Approve>())
        .add_edge(START, Step::Plan)
        .add_edge(Step::Plan, [Step::Web, Step::Papers])
        .add_edge([Step::Web, Step::Papers], Step::Write)
        .add_edge(Step::Write, Step::Review)
        .add_conditional_edges(Step::Review, route_after_review)
        .compile()
}

async fn run() -> Result<(), Box<dyn Error>> {
    let graph = graph()?.with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread("essay-1");
    let mut outcome = thread.invoke(Draft::update().topic("tides")).await?;
    let mut answers = [false, true].into_iter();
    while let Outcome::Interrupted(questions) = &outcome {
        let answer = answers.next().unwrap_or(true);
        for asked in questions.iter().filter_map(|question| question.payload::<Approve>()) {
            println!("approve \"{}\"? {answer}", asked.text);
        }
        outcome = thread.resume::<Approve>(answer).await?;
    }
    if let Some(draft) = outcome.finished() {
        println!("published after {} rounds: {}", draft.rounds, draft.text);
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
