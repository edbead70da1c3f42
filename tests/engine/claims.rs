//! The threads that a store hands out to a runner: when it does, under which lease they run, and which it does not hand out again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Claim, DueQuery};
use superstep::graph::runner::{RunnerReport, RunnerTurn, TurnEnd, Until};
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

/// A graph whose only node notes its version.
fn versioned(store: &Store, version: u32) -> Graph {
    let word = ["v0", "v1", "v2"][version as usize];
    let builder = Builder::new().add_node(id("a"), note(word)).add_node(id("b"), note(word)).version(version);
    chain(builder, &["a", "b"]).named("pad").with_shared_checkpointer(Arc::clone(&store.store))
}

/// Runs threads until none is due; returns the report, and what the runner said of graphs that it does not have.
async fn run_idle(graph: Graph) -> (RunnerReport, Vec<(String, u32)>) {
    let reported = Arc::new(Mutex::new(vec![]));
    let hook = Arc::clone(&reported);
    let runs = runner([graph]).max_threads(1).on_unknown_graph(move |graph, version| {
        hook.lock().unwrap().push((graph.to_owned(), version));
    });
    let report = runs.run(Until::Idle).await.unwrap();
    (report, std::mem::take(&mut *reported.lock().unwrap()))
}

#[rstest]
#[tokio::test]
async fn an_older_worker_leaves_threads_to_a_newer_one_and_says_so_once(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let [older, newer] = [versioned(&store, 1), versioned(&store, 2)];
    for name in ["new1", "new2"] {
        newer.thread(name).max_supersteps(1).invoke(start()).await.unwrap();
    }
    older.thread("old").max_supersteps(0).invoke(start()).await.unwrap();
    let (report, reported) = run_idle(older.clone()).await;
    assert_eq!((report.turns, report.errors, reported), (1, 0, vec![("pad".into(), 2)]));
    assert_eq!(report.unknown_graphs, [("pad".to_owned(), 2)].into());
    for (name, status) in [("old", StatusKind::Finished), ("new1", StatusKind::Pending), ("new2", StatusKind::Pending)]
    {
        assert_eq!(newer.thread(name).status().await.unwrap().kind(), status, "{name}");
    }
    let (report, reported) = run_idle(newer.clone()).await;
    assert_eq!((report.turns, report.errors, reported), (2, 0, vec![]));
    let notes = &newer.thread("new1").state().await.unwrap().unwrap().values.notes;
    assert!(notes.ends_with(&["v2".to_owned(), "v2".to_owned()]), "{notes:?}");
}

#[rstest]
#[tokio::test]
async fn a_newer_worker_goes_on_with_threads_of_an_older_one(#[values(Store::memory(), Store::disk())] store: Store) {
    let [older, newer] = [versioned(&store, 1), versioned(&store, 2)];
    for name in ["a", "b"] {
        older.thread(name).max_supersteps(1).invoke(start()).await.unwrap();
    }
    let (report, reported) = run_idle(newer).await;
    assert_eq!((report.errors, reported), (0, vec![]));
    for name in ["a", "b"] {
        assert_eq!(older.thread(name).status().await.unwrap().kind(), StatusKind::Finished, "{name}");
    }
}

#[tokio::test]
async fn a_runner_that_waits_says_once_that_it_does_not_have_a_graph() {
    let store = Store::memory();
    let other = graph(&store).named("other");
    other.thread("t").max_supersteps(0).invoke(start()).await.unwrap();
    let reported = Arc::new(AtomicU32::new(0));
    let hook = Arc::clone(&reported);
    let runs = runner([graph(&store)]).poll_every(Duration::from_millis(1)).on_unknown_graph(move |graph, _| {
        assert_eq!(graph, "other");
        hook.fetch_add(1, Ordering::SeqCst);
    });
    let report = runs.run(Duration::from_millis(100)).await.unwrap();
    assert_eq!((reported.load(Ordering::SeqCst), report.unknown_graphs.len()), (1, 1));
}
