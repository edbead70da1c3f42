//! Answers to a thread that a run holds: taken by that run, or by the next one.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, ThreadQuery};
use superstep::graph::Durability;
use superstep::prelude::*;
use tokio::sync::Notify;

use crate::pad::*;
use crate::stores::Store;

/// A graph with a question beside a node that works until it is told to end.
fn busy(end: &Arc<Notify>, inside: bool) -> Graph {
    let end = Arc::clone(end);
    let work = move |_: Arc<Pad>, _: Ctx| {
        let end = Arc::clone(&end);
        async move {
            end.notified().await;
            Ok::<_, NodeError>(Pad::update().notes(["worked"]))
        }
    };
    let asks = Builder::new().add_node(id("asks"), approval.asks::<Approve>());
    match inside {
        false => fan(asks.add_node(id("works"), work), &["asks", "works"]),
        true => {
            let inner = chain(asks, &["asks"]);
            fan(Builder::new().add_subgraph(id("inside"), inner).add_node(id("works"), work), &["inside", "works"])
        }
    }
}

/// Starts a run, and waits until its question is stored.
async fn start_and_ask(
    store: &Store,
    graph: &Graph,
    durability: Durability,
) -> tokio::task::JoinHandle<Result<Arc<Pad>, String>> {
    let thread = store.thread(graph).durability(durability);
    let run = tokio::spawn(async move {
        let outcome = thread.invoke(start()).await.map_err(|error| error.to_string())?;
        outcome.finished().ok_or_else(|| "the run did not finish".into())
    });
    while question(store, graph).await.is_none() {
        tokio::task::yield_now().await;
    }
    run
}

async fn question(store: &Store, graph: &Graph) -> Option<superstep::graph::InterruptId> {
    let snapshot = store.thread(graph).state().await.unwrap()?;
    snapshot.tasks.iter().flat_map(|task| &task.questions).map(|question| question.id()).next()
}

#[rstest]
#[tokio::test]
async fn a_run_takes_an_answer_that_is_posted_while_it_works(
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
    #[values(false, true)] inside: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let end = Arc::new(Notify::new());
    let graph = busy(&end, inside);
    let run = start_and_ask(&store, &graph, durability).await;
    let other = store.thread(&graph);
    let taken = other.resume::<Approve>(true).await.unwrap_err();
    assert!(matches!(taken, RunError::Checkpoint(CheckpointError::ThreadBusy { .. })), "{taken}");
    other.post_answer(Answer::new::<Rename>(&"x".to_owned())).await.unwrap_err();
    let id = other.post_answer(Answer::new::<Approve>(&true).by("ada")).await.unwrap();
    let again = other.post_answer(Answer::json(&false.into()).to(id).by("ada")).await.unwrap_err();
    assert!(matches!(again, RunError::AlreadyAnswered { .. }), "{again}");
    end.notify_one();
    let mut notes = run.await.unwrap().unwrap().notes.clone();
    notes.sort();
    assert_eq!(notes, ["approved: true", "worked"]);
    assert_eq!(other.mailbox().await.unwrap().len(), 0);
    let late = other.post_answer(Answer::json(&true.into()).to(id)).await.unwrap_err();
    assert!(matches!(late, RunError::AlreadyAnswered { .. } | RunError::UnknownQuestion { .. }), "{late}");
}

#[rstest]
#[tokio::test]
async fn the_next_run_takes_an_answer_whose_run_was_killed(
    #[values(false, true)] inside: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let end = Arc::new(Notify::new());
    let graph = busy(&end, inside);
    let run = start_and_ask(&store, &graph, Durability::Sync).await;
    store.thread(&graph).post_answer(Answer::new::<Approve>(&true)).await.unwrap();
    run.abort();
    _ = run.await;
    let listed = store.store.list(&ThreadQuery::default()).await.unwrap();
    assert!(listed[0].due.is_some(), "{listed:?}");
    end.notify_one();
    let mut notes = store.thread(&graph).proceed().await.unwrap().finished().unwrap().notes.clone();
    notes.sort();
    assert_eq!(notes, ["approved: true", "worked"]);
}

#[rstest]
#[tokio::test]
async fn an_answer_posted_to_a_thread_at_rest_makes_it_due(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = chain(Builder::new().add_node(id("asks"), approval.asks::<Approve>()), &["asks"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let due = async || store.store.list(&ThreadQuery::default()).await.unwrap().remove(0).due.is_some();
    assert!(!due().await);
    store.thread(&graph).post_answer(Answer::cancel()).await.unwrap();
    assert!(due().await);
    let error = store.thread(&graph).proceed().await.unwrap_err();
    assert!(error.to_string().contains("cancelled"), "{error}");
    assert!(!due().await);
}

#[tokio::test]
async fn an_answer_to_a_question_that_was_dropped_is_removed() {
    let store = Store::memory();
    let graph = chain(Builder::new().add_node(id("asks"), approval.asks::<Approve>()), &["asks"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).post_answer(Answer::new::<Approve>(&true)).await.unwrap();
    // New input takes the place of the question.
    store.thread(&graph).discard_pending().invoke(start()).await.unwrap();
    let outcome = store.thread(&graph).proceed().await.unwrap();
    assert_eq!(outcome.questions().len(), 1);
    let end = store.thread(&graph).resume::<Approve>(false).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.last().unwrap(), "approved: false");
}
