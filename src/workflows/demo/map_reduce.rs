//! The words of a book: one worker for each chapter, all in parallel, their counts merged by a reducer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{
    CompileError, CompiledGraph, Ctx, NodeError, NodeExt, NodeId, START, Sends, State, StateGraph, Worker, worker,
};

/// How often words occur.
pub type Counts = BTreeMap<String, usize>;

/// The book and its words.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Book {
    /// The text of each chapter.
    pub chapters: Vec<String>,
    /// How often each word occurs.
    #[channel(reduce = merge)]
    pub counts: Counts,
    /// The word that occurs most.
    pub most: String,
}

/// In whichever order the workers end, the sum is the same.
fn merge(counts: &mut Counts, more: Counts) {
    more.into_iter().for_each(|(word, count)| *counts.entry(word).or_default() += count);
}

/// The steps.
#[derive(NodeId)]
pub enum Step {
    /// Counts the words of a chapter.
    Count,
    /// Finds the one that occurs most.
    Rank,
}

/// A chapter on its way to its worker.
#[derive(Serialize, Deserialize)]
pub struct Chapter(String);

const COUNT: Worker<Step, Chapter> = Worker::new(Step::Count);

fn fan_out(book: &Book) -> Sends<Step> {
    COUNT.each(book.chapters.iter().cloned().map(Chapter))
}

async fn count(chapter: Arc<Chapter>, _: Ctx) -> Result<BookUpdate, NodeError> {
    let mut counts = Counts::new();
    chapter.0.split_whitespace().for_each(|word| *counts.entry(word.to_lowercase()).or_default() += 1);
    Ok(Book::update().counts(counts))
}

async fn rank(book: Arc<Book>, _: Ctx) -> Result<BookUpdate, NodeError> {
    let most = book.counts.iter().max_by_key(|(_, count)| **count);
    Ok(Book::update().most(most.map(|(word, count)| format!("{word} ({count} times)")).unwrap_or_default()))
}

/// Returns the graph.
///
/// # Errors
/// None that a test would not find.
pub fn graph() -> Result<CompiledGraph<Book, Step>, CompileError> {
    StateGraph::new()
        .add_worker(COUNT, worker(count).replayable())
        .add_node(Step::Rank, rank.replayable())
        .add_conditional_edges_to(START, fan_out, COUNT)
        .add_edge(Step::Count, Step::Rank)
        .compile()
}
