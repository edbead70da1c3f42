//! The words of a book: one parallel worker for each chapter, their counts merged by a reducer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::graph::{
    CompileError, CompiledGraph, Ctx, NodeError, NodeExt, NodeId, START, Sends, State, StateGraph, Worker, worker,
};

/// The number of occurrences of each word.
pub type Counts = BTreeMap<String, usize>;

/// A book and its words.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub struct Book {
    /// The text of each chapter.
    pub chapters: Vec<String>,
    /// The number of occurrences of each word.
    #[channel(reduce = merge)]
    pub counts: Counts,
    /// The most frequent word.
    pub most: String,
}

/// Adds counts. The order in which workers finish does not matter.
fn merge(counts: &mut Counts, more: Counts) {
    more.into_iter().for_each(|(word, count)| *counts.entry(word).or_default() += count);
}

/// The nodes of the graph.
#[derive(NodeId)]
pub enum Step {
    /// Counts the words of a chapter.
    Count,
    /// Finds the most frequent word.
    Rank,
}

/// A chapter, sent to its worker.
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
/// Only if the graph is invalid, which is a bug.
pub fn graph() -> Result<CompiledGraph<Book, Step>, CompileError> {
    StateGraph::new()
        .add_worker(COUNT, worker(count).replayable())
        .add_node(Step::Rank, rank.replayable())
        .add_conditional_edges_to(START, fan_out, COUNT)
        .add_edge(Step::Count, Step::Rank)
        .compile()
}
