//! Map and reduce: one send for each chapter, counted in parallel, the counts merged by a reducer.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use superstep::prelude::*;

type Counts = BTreeMap<String, usize>;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Book {
    chapters: Vec<String>,
    #[channel(reduce = merge)]
    counts: Counts,
    most: String,
}

/// Adds counts. The order in which workers finish does not matter.
fn merge(counts: &mut Counts, more: Counts) {
    more.into_iter().for_each(|(word, count)| *counts.entry(word).or_default() += count);
}

#[derive(NodeId)]
enum Step {
    Count,
    Rank,
}

#[derive(Serialize, Deserialize)]
struct Chapter(String);

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

fn graph() -> Result<CompiledGraph<Book, Step>, CompileError> {
    StateGraph::new()
        .add_worker(COUNT, count)
        .add_node(Step::Rank, rank)
        .add_conditional_edges_to(START, fan_out, COUNT)
        .add_edge(Step::Count, Step::Rank)
        .compile()
}

async fn run() -> Result<(), Box<dyn Error>> {
    let chapters = ["The moon pulls the sea", "The sea follows", "Twice a day the sea comes back"];
    let outcome = graph()?.invoke(Book::update().chapters(chapters.map(String::from).into())).await?;
    println!("{} chapters, most of all: {}", outcome.state().chapters.len(), outcome.state().most);
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
