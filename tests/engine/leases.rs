//! One writer per thread, and no unfinished work is discarded without permission.

use std::sync::Arc;

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Claim, OwnerRequest};
use superstep::graph::runner;
use superstep::graph::runner::{TurnEnd, Until};
use superstep::prelude::*;
use tokio::sync::watch;

use crate::pad::*;
use crate::stores::Store;

struct RunningThread {
    graph: Graph,
    tally: Tally,
    open: watch::Sender<bool>,
    run: tokio::task::JoinHandle<Result<Outcome<Pad>, RunError>>,
}

/// Starts a run that waits in its second node.
async fn running(store: &Store) -> RunningThread {
    let (open, gate) = watch::channel(false);
    let tally = Tally::default();
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), gated(&tally, "b", &gate));
    let graph = chain(builder, &["a", "b"]);
    let thread = store.thread(&graph);
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    RunningThread { graph, tally, open, run }
}

fn is_busy(error: &RunError) -> bool {
    matches!(error, RunError::Checkpoint(CheckpointError::ThreadBusy { .. }))
}

#[rstest]
#[tokio::test]
async fn a_second_run_on_a_thread_is_refused_and_the_first_continues(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let running = running(&store).await;
    let thread = store.thread(&running.graph);
    assert!(is_busy(&thread.invoke(start()).await.unwrap_err()));
    assert!(is_busy(&thread.proceed().await.unwrap_err()));
    assert!(is_busy(&thread.update_state(start()).await.unwrap_err()));
    assert!(is_busy(&thread.retry().await.unwrap_err()));
    assert!(is_busy(&thread.delete().await.unwrap_err()));
    running.open.send(true).unwrap();
    assert_eq!(running.run.await.unwrap().unwrap().finished().unwrap().notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_runner_whose_lease_was_taken_over_before_the_run_executes_nothing(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (tally, checkpointer) = (Tally::default(), Arc::clone(&store.store));
    let builder = Builder::new().add_node(id("a"), tallied(&tally, "a"));
    let graph = chain(builder, &["a"]).named("pad").with_shared_checkpointer(Arc::clone(&checkpointer));
    graph.thread("t").max_supersteps(0).invoke(start()).await.unwrap();
    let taken = runner([graph.clone()]).drive_with(move |turn| {
        let checkpointer = Arc::clone(&checkpointer);
        async move {
            let lease = checkpointer.claim(&"t".into(), Claim::TakeOver).await?;
            let error = turn.thread.proceed().await.unwrap_err();
            assert!(is_busy(&error), "{error}");
            drop(lease);
            Ok(TurnEnd::default())
        }
    });
    let report = taken.max_resumes(1).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.errors, tally.count()), (1, 0, 0));
    assert_eq!(runner([graph]).run(Until::Idle).await.unwrap().turns, 1);
    assert_eq!(tally.count(), 1);
}

#[rstest]
#[tokio::test]
async fn a_thread_can_be_read_while_it_runs(#[values(Store::memory(), Store::disk())] store: Store) {
    let running = running(&store).await;
    let thread = store.thread(&running.graph);
    let status = thread.status().await.unwrap();
    assert!(matches!(&status, Status::Running { owner } if owner.is_this_process()));
    let ends = serde_json::to_value(&status).unwrap()["owner"]["until"].is_string();
    assert_eq!(ends, store.has_ends_of_leases());
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes, ["a"]);
    assert_eq!(thread.history().await.unwrap().all().await.unwrap().len(), 3);
    running.run.abort();
}

#[rstest]
#[tokio::test]
async fn a_run_whose_thread_was_taken_over_stops_writing(#[values(Store::memory(), Store::disk())] store: Store) {
    let running = running(&store).await;
    let (open, gate) = (running.open, store.thread(&running.graph).take_over());
    let second = tokio::spawn(async move { gate.proceed().await });
    while running.tally.count() < 2 {
        tokio::task::yield_now().await;
    }
    // At once, in the middle of its node.
    let stale = running.run.await.unwrap().unwrap_err();
    assert!(matches!(stale, RunError::Checkpoint(CheckpointError::StaleLease { .. })), "{stale:?}");
    let json = serde_json::to_value(&stale).unwrap();
    assert_eq!((&json["kind"], &json["owner"]["pid"]), (&"lease_lost".into(), &std::process::id().into()));
    open.send(true).unwrap();
    assert_eq!(second.await.unwrap().unwrap().finished().unwrap().notes, ["a", "b"]);
    assert_eq!(store.thread(&running.graph).state().await.unwrap().unwrap().values.notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_run_is_cancelled_through_its_store(#[values(Store::memory(), Store::disk())] store: Store) {
    let running = running(&store).await;
    let owner = store.store.send(&"t".into(), OwnerRequest::Cancel).await.unwrap().unwrap();
    assert!(owner.is_this_process());
    assert!(matches!(running.run.await.unwrap().unwrap(), Outcome::Cancelled(_)));
    assert_eq!(store.store.send(&"t".into(), OwnerRequest::Cancel).await.unwrap(), None);
    running.open.send(true).unwrap();
    assert_eq!(store.thread(&running.graph).proceed().await.unwrap().finished().unwrap().notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_run_is_drained_through_its_store(#[values(Store::memory(), Store::disk())] store: Store) {
    let (tally, (open, gate)) = (Tally::default(), watch::channel(false));
    let builder = Builder::new().add_node(id("a"), gated(&tally, "a", &gate)).add_node(id("b"), note("b"));
    let graph = chain(builder, &["a", "b"]);
    let thread = store.thread(&graph);
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    store.store.send(&"t".into(), OwnerRequest::Drain).await.unwrap().unwrap();
    open.send(true).unwrap();
    let Outcome::Drained(state) = run.await.unwrap().unwrap() else { panic!("it went on") };
    assert_eq!(state.state().notes, ["a"]);
    assert_eq!(store.thread(&graph).proceed().await.unwrap().finished().unwrap().notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_dropped_run_releases_its_thread(#[values(Store::memory(), Store::disk())] store: Store) {
    let running = running(&store).await;
    running.run.abort();
    assert!(running.run.await.unwrap_err().is_cancelled());
    running.open.send(true).unwrap();
    let end = store.thread(&running.graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), running.tally.count()), ("a b".into(), 2));
}

#[rstest]
#[tokio::test]
async fn new_input_is_refused_while_a_question_is_open_unless_it_discards_it(
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
async fn new_input_is_refused_after_a_failure_until_it_is_fixed() {
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
