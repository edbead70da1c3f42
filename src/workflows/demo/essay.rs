//! An essay: two researchers in parallel, a writer, and a person who approves it, rejects it or sends it back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{
    CompileError, CompiledGraph, Ctx, END, Interrupt, NodeError, NodeExt, NodeId, Route, START, State, StateGraph,
};

/// The essay and what it is made of.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Draft {
    /// What it is about.
    pub topic: String,
    /// What it says.
    pub text: String,
    /// What a person said of it; none before.
    pub review: Option<Review>,
    /// What was found.
    #[channel(append)]
    pub notes: Vec<String>,
    /// How often it was written.
    #[channel(add)]
    pub rounds: u32,
}

/// The steps.
#[derive(NodeId)]
pub enum Step {
    /// Begins.
    Plan,
    /// Looks at the web.
    Web,
    /// Looks at papers.
    Papers,
    /// Writes.
    Write,
    /// Asks a person.
    Review,
}

/// The question whether an essay may be published.
#[derive(Interrupt, Clone, Debug, Serialize, Deserialize)]
#[interrupt(resume = Review, name = "approve")]
pub struct Approve {
    /// The essay.
    pub text: String,
}

/// What a person says of an essay: `true`, `false`, or `{"revise": "what to change"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Review {
    /// Publish it, or drop it.
    Verdict(bool),
    /// Write it again.
    Again {
        /// What to change.
        revise: String,
    },
}

/// What follows a review.
#[derive(Route)]
pub enum AfterReview {
    /// It is written again.
    #[to(Step::Write)]
    Revise,
    /// It is published.
    #[to(END)]
    Publish,
    /// It is dropped.
    #[to(END)]
    Drop,
}

/// Returns what follows the review of an essay.
pub fn route_after_review(draft: &Draft) -> AfterReview {
    match draft.review {
        Some(Review::Verdict(true)) => AfterReview::Publish,
        Some(Review::Verdict(false)) => AfterReview::Drop,
        Some(Review::Again { .. }) | None => AfterReview::Revise,
    }
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
    let (topic, round, notes) = (&draft.topic, draft.rounds + 1, draft.notes.len());
    let wish = match &draft.review {
        Some(Review::Again { revise }) => format!(", with {revise} in mind"),
        Some(Review::Verdict(_)) | None => String::new(),
    };
    Ok(Draft::update().text(format!("{topic}, draft {round}, from {notes} notes{wish}")).rounds(1))
}

async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    let review = ctx.interrupt(Approve { text: draft.text.clone() })?;
    Ok(Draft::update().review(Some(review)))
}

/// Returns the graph.
///
/// # Errors
/// None that a test would not find.
pub fn graph() -> Result<CompiledGraph<Draft, Step>, CompileError> {
    StateGraph::new()
        .add_node(Step::Plan, plan.replayable())
        .add_node(Step::Web, web.replayable())
        .add_node(Step::Papers, papers.replayable())
        .add_node(Step::Write, write.replayable())
        .add_node(Step::Review, review.asks::<Approve>().replayable())
        .add_edge(START, Step::Plan)
        .add_edge(Step::Plan, [Step::Web, Step::Papers])
        .add_edge([Step::Web, Step::Papers], Step::Write)
        .add_edge(Step::Write, Step::Review)
        .add_conditional_edges(Step::Review, route_after_review)
        .compile()
}
