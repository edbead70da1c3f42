//! A graph whose nodes spend: an outline by a model that sends messages, chapters in parallel, and a review in a subgraph. No model is
//! called.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use superstep::checkpoint::spending::Expense;
use superstep::prelude::*;

/// An article in chapters.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Article {
    topic: String,
    /// The number of chapters.
    chapters: u32,
    #[channel(append)]
    texts: Vec<String>,
    verdict: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Desk {
    Outline,
    Chapter,
    Review,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Review {
    Judge,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Chapter {
    number: u32,
}

const CHAPTER: Worker<Desk, Chapter> = Worker::new(Desk::Chapter);

/// A message of a model has what it has used, and LangSmith's cost of it.
async fn outline(state: Arc<Article>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.set_label(format!("an outline about {}", state.topic)).await;
    let usage = json!({ "input_tokens": 400, "output_tokens": 60, "input_token_details": { "cache_read": 100 }, "total_cost": 0.0125 });
    ctx.emit_message(json!({ "type": "AIMessageChunk", "id": "outline", "content": "Tides", "usage_metadata": usage }))
        .await;
    Ok(())
}

/// The call of a model is an effect, so it is paid for and reported once.
async fn chapter(of: Arc<Chapter>, ctx: Ctx) -> Result<ArticleUpdate, NodeError> {
    let name = format!("chapter {}", of.number);
    ctx.set_label(&name).await;
    let written = ctx.effect("write", &name, |_| async {
        tokio::time::sleep(Duration::from_millis(u64::from(of.number))).await;
        ctx.spend(Expense::tokens(900, 120).cost(4_000 * u64::from(of.number)).role("writer")).await;
        Ok::<_, NodeError>(format!("The text of {name}."))
    });
    let text = written.await?;
    ctx.set_summary("The chapter has one sentence.").await;
    Ok(Article::update().texts([text]))
}

/// A model without a price.
async fn judge(_: Arc<Article>, ctx: Ctx) -> Result<ArticleUpdate, NodeError> {
    ctx.spend(Expense::tokens(2_000, 30).role("reviewer").task("the article")).await;
    ctx.set_summary("It is fine.").await;
    Ok(Article::update().verdict("fine"))
}

fn chapters(state: &Article) -> Sends<Desk> {
    CHAPTER.each((1..=state.chapters.max(1)).map(|number| Chapter { number }))
}

/// Returns the graph `article`.
pub(crate) fn article() -> Result<CompiledGraph<Article, Desk>, CompileError> {
    let review = StateGraph::new().add_node(Review::Judge, judge).add_sequence([Review::Judge]).compile()?;
    StateGraph::new()
        .add_node(Desk::Outline, outline)
        .add_worker(CHAPTER, chapter)
        .add_subgraph(Desk::Review, review.named("review"))
        .add_edge(START, Desk::Outline)
        .add_conditional_edges_to(Desk::Outline, chapters, CHAPTER)
        .add_edge(Desk::Chapter, Desk::Review)
        .add_edge(Desk::Review, END)
        .compile()
}
