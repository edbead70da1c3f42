//! One writer per thread, and nothing unfinished is dropped unasked.

use rstest::rstest;
use superstep::checkpoint::CheckpointError;
use superstep::prelude::*;
use tokio::sync::watch;

use crate::pad::*;
use crate::stores::Store;

struct Held {
    graph: Graph,
    tally: Tally,
    open: watch::Sender<bool>,
    run: tokio::task::JoinHandle<Result<Outcome<Pad>, RunError>>,
}

/// A run that waits in its second node.
async fn held(store: &Store) -> Held {
    let (open, gate) = watch::channel(false);
    let tally = Tally::default();
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), gated(&tally, "b", &gate));
    let graph = chain(builder, &["a", "b"]);
    let thread = store.thread(&graph);
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    Held { graph, tally, open, run }
}

fn is_busy(error: &RunError) -> bool {
    matches!(error, RunError::Checkpoint(CheckpointError::ThreadBusy { .. }))
}

#[rstest]
#[tokio::test]
async fn a_second_run_on_a_thread_is_refused_and_the_first_goes_on(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let held = held(&store).await;
    let thread = store.thread(&held.graph);
    assert!(is_busy(&thread.invoke(start()).await.unwrap_err()));
    assert!(is_busy(&thread.proceed().await.unwrap_err()));
    assert!(is_busy(&thread.update_state(start()).await.unwrap_err()));
    assert!(is_busy(&thread.retry().await.unwrap_err()));
    assert!(is_busy(&thread.delete().await.unwrap_err()));
    held.open.send(true).unwrap();
    assert_eq!(held.run.await.unwrap().unwrap().finished().unwrap().notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_thread_can_be_read_while_it_runs(#[values(Store::memory(), Store::disk())] store: Store) {
    let held = held(&store).await;
    let thread = store.thread(&held.graph);
    assert!(matches!(thread.status().await.unwrap(), Status::Running));
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes, ["a"]);
    assert_eq!(thread.history().await.unwrap().all().await.unwrap().len(), 3);
    held.run.abort();
}

#[rstest]
#[tokio::test]
async fn a_run_whose_thread_was_taken_over_writes_nothing_more(#[values(Store::memory(), Store::disk())] store: Store) {
    let held = held(&store).await;
    let (open, gate) = (held.open, store.thread(&held.graph).take_over());
    let second = tokio::spawn(async move { gate.proceed().await });
    while held.tally.count() < 2 {
        tokio::task::yield_now().await;
    }
    open.send(true).unwrap();
    let stale = held.run.await.unwrap().unwrap_err();
    assert!(matches!(stale, RunError::Checkpoint(CheckpointError::StaleLease { .. })), "{stale:?}");
    assert_eq!(second.await.unwrap().unwrap().finished().unwrap().notes, ["a", "b"]);
    assert_eq!(store.thread(&held.graph).state().await.unwrap().unwrap().values.notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_run_that_was_dropped_leaves_its_thread_free(#[values(Store::memory(), Store::disk())] store: Store) {
    let held = held(&store).await;
    held.run.abort();
    assert!(held.run.await.unwrap_err().is_cancelled());
    held.open.send(true).unwrap();
    let end = store.thread(&held.graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), held.tally.count()), ("a b".into(), 2));
}

#[rstest]
#[tokio::test]
async fn new_input_is_refused_while_a_question_is_open_unless_it_may_drop_it(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let builder = Builder::new().add_node(id("ask"), approval.asks::<Approve>());
    let graph = fan(builder.add_node(id("b"), note("b")), &["ask", "b"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let before = everything(&store.thread(&graph)).await;
    let error = store.thread(&graph).invoke(Pad::update().title("moons")).await.unwrap_err();
    assert!(matches!(error, RunError::Unfinished { .. }), "{error:?}");
    assert_eq!(everything(&store.thread(&graph)).await, before);
    let outcome = store.thread(&graph).discard_pending().invoke(Pad::update().title("moons")).await.unwrap();
    assert_eq!((outcome.questions().len(), outcome.state().title.as_str()), (1, "moons"));
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!(end.notes.iter().filter(|note| note.starts_with("approved")).count(), 1);
}

#[tokio::test]
async fn new_input_is_refused_after_a_failure_until_it_is_mended() {
    let bad = |_: std::sync::Arc<Pad>, _: Ctx| async { Err::<(), NodeError>("no".into()) };
    let graph = chain(Builder::new().add_node(id("a"), bad), &["a"]);
    let store = Store::memory();
    assert!(store.thread(&graph).invoke(start()).await.is_err());
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::Unfinished { .. }), "{error:?}");
    let mended = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    store.thread(&mended).proceed().await.unwrap();
    assert_eq!(store.thread(&mended).invoke(start()).await.unwrap().state().notes, ["a", "a"]);
}
