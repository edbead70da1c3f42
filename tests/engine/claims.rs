//! The threads that a store hands out to a runner: when it does, under which lease they run, and which it does not hand out again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Claim, DueQuery};
use superstep::graph::runner::{RunnerTurn, TurnEnd, Until};
use superstep::graph::{StatusKind, runner};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

fn graph(store: &Store) -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b"));
    chain(builder, &["a", "b"]).named("pad").with_shared_checkpointer(Arc::clone(&store.store))
}

#[rstest]
#[tokio::test]
async fn a_runner_is_woken_by_the_store(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = graph(&store);
    let stop = tokio_util::sync::CancellationToken::new();
    let runs = runner([graph.clone()]).poll_every(Duration::from_secs(60)).on_stop({
        let stop = stop.clone();
        move |_| {
            stop.cancel();
            std::future::ready(())
        }
    });
    let began = Instant::now();
    let (report, stored) = tokio::join!(runs.run(stop), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        graph.thread("t").max_supersteps(0).invoke(start()).await
    });
    assert!(matches!(stored.unwrap(), Outcome::Budget { .. }));
    assert_eq!(report.unwrap().turns, 1);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[rstest]
#[tokio::test]
async fn a_turn_runs_under_the_lease_with_which_the_thread_was_handed_out(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let graph = graph(&store);
    graph.thread("t").max_supersteps(0).invoke(start()).await.unwrap();
    let shared = Arc::clone(&store.store);
    let drive = move |turn: RunnerTurn| {
        let shared = Arc::clone(&shared);
        async move {
            // Before the run, too, the thread belongs to the turn.
            let other = shared.claim(&"t".into(), Claim::IfFree).await;
            assert!(matches!(other, Err(CheckpointError::ThreadBusy { .. })), "{other:?}");
            assert_eq!(turn.thread.status().await?.kind(), StatusKind::Pending);
            Ok(TurnEnd { error: turn.thread.proceed().await.err(), ..TurnEnd::default() })
        }
    };
    let report = runner([graph.clone()]).drive_with(drive).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.errors), (1, 0));
    assert_eq!(graph.thread("t").status().await.unwrap().kind(), StatusKind::Finished);
}

#[tokio::test]
async fn a_turn_that_runs_nothing_frees_its_thread_and_is_given_up() {
    let store = Store::memory();
    let graph = graph(&store);
    graph.thread("t").max_supersteps(0).invoke(start()).await.unwrap();
    let drive = |_: RunnerTurn| async { Ok(TurnEnd::default()) };
    let report = runner([graph.clone()]).drive_with(drive).max_resumes(2).run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.given_up), (2, vec!["t".into()]));
    assert!(store.store.claim(&"t".into(), Claim::IfFree).await.is_ok());
    graph.thread("t").proceed().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_thread_at_a_breakpoint_is_left_until_it_is_written(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = graph(&store);
    graph.thread("t").interrupt_before([id("b")]).remember_stops().invoke(start()).await.unwrap();
    let runs = runner([graph.clone()]).poll_every(Duration::from_millis(1));
    let report = runs.run(Duration::from_millis(50)).await.unwrap();
    assert_eq!((report.turns, report.given_up.len()), (0, 0));
    assert_eq!(store.store.due(&DueQuery::new(["pad"], 9)).await.unwrap().threads.len(), 0);

    graph.thread("t").remember_stops().max_supersteps(0).proceed().await.unwrap();
    assert_eq!(runs.run(Until::Idle).await.unwrap().turns, 1);
    assert_eq!(graph.thread("t").status().await.unwrap().kind(), StatusKind::Finished);
}

#[tokio::test]
async fn a_thread_whose_hook_runs_is_not_resumed_again() {
    let store = Store::memory();
    let graph = graph(&store);
    graph.thread("t").max_supersteps(0).invoke(start()).await.unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let drive = |turn: RunnerTurn| async move {
        let stopped = turn.thread.max_supersteps(1).proceed().await; // leaves something to run
        Ok(TurnEnd { error: stopped.err(), ..TurnEnd::default() })
    };
    let hook = {
        let calls = Arc::clone(&calls);
        move |_| {
            calls.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(200))
        }
    };
    let runs = runner([graph.clone()]).drive_with(drive).on_stop(hook).grace(Duration::ZERO);
    let report = runs.run(Duration::from_millis(100)).await.unwrap();
    assert_eq!((report.turns, calls.load(Ordering::SeqCst)), (1, 1));
}
