//! An essay: two researchers in parallel, a writer, and a person who approves, rejects or returns it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{
    CompileError, CompiledGraph, Ctx, END, Interrupt, NodeError, NodeExt, NodeId, Route, START, State, StateGraph,
};

/// The essay and its sources.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Draft {
    /// The topic.
    pub topic: String,
    /// The text.
    pub text: String,
    /// The person's review, if any.
    pub review: Option<Review>,
    /// The researchers' notes.
    #[channel(append)]
    pub notes: Vec<String>,
    /// The number of drafts.
    #[channel(add)]
    pub rounds: u32,
}

/// The nodes of the graph.
#[derive(NodeId)]
pub enum Step {
    /// Starts the research.
    Plan,
    /// Searches the web.
    Web,
    /// Searches papers.
    Papers,
    /// Writes a draft.
    Write,
    /// Asks a person for a review.
    Review,
}

/// The interrupt before an essay is published.
#[derive(Interrupt, Clone, Debug, Serialize, Deserialize)]
#[interrupt(resume = Review, name = "approve")]
pub struct Approve {
    /// The essay.
    pub text: String,
}

/// A person's review of an essay: `true`, `false`, or `{"revise": "what to change"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false or {\"revise\": text}")]
pub enum Review {
    /// Publish it, or drop it.
    Verdict(bool),
    /// Write it again.
    Again {
        /// The requested changes.
        revise: String,
    },
}

/// The next step after a review.
#[derive(Route)]
pub enum AfterReview {
    /// The essay is written again.
    #[to(Step::Write)]
    Revise,
    /// The essay is published.
    #[to(END)]
    Publish,
    /// The essay is dropped.
    #[to(END)]
    Drop,
}

/// Returns the next step after a review.
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
    let request = match &draft.review {
        Some(Review::Again { revise }) => format!(", with {revise} in mind"),
        Some(Review::Verdict(_)) | None => String::new(),
    };
    Ok(Draft::update().text(format!("{topic}, draft {round}, from {notes} notes{request}")).rounds(1))
}

async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    let review = ctx.interrupt(Approve { text: draft.text.clone() })?;
    Ok(Draft::update().review(Some(review)))
}

/// Returns the graph.
///
/// # Errors
/// Only if the graph is invalid, which is a bug.
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
