//! Requests that a runner resumes a thread, and threads that are bound to a place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{CheckpointError, Checkpointer, Claim, ThreadPlace};
use superstep::graph::runner::Until;
use superstep::graph::{StatusKind, ThreadInfo, runner};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::{Counting, Store};

/// Returns a graph whose node fails the first time.
fn failing_once() -> Graph {
    let calls = Arc::new(AtomicU32::new(0));
    let node = move |_: Arc<Pad>, _: Ctx| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move { if call == 0 { Err(NodeError::from("not now")) } else { Ok(Pad::update().notes(["done".to_owned()])) } }
    };
    chain(Builder::new().add_node(id("a"), node), &["a"])
}

#[rstest]
#[tokio::test]
async fn a_failed_thread_is_resumed_once_for_each_request(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let graph = failing_once().named("pad").with_shared_checkpointer(Arc::clone(&store.store));
    let thread = graph.thread("t").durability(durability);
    thread.invoke(start()).await.unwrap_err();
    let idle = runner([graph.clone()]).run(Until::Idle).await.unwrap();
    assert_eq!((idle.turns, thread.status().await.unwrap().kind()), (0, StatusKind::Failed));

    thread.request_run().await.unwrap();
    let info = ThreadInfo::read(&*store.store, &"t".into()).await.unwrap().unwrap();
    assert!(info.requested_at.is_some() && info.status == StatusKind::Failed, "{info:?}");
    let ran = runner([graph.clone()]).run(Until::Idle).await.unwrap();
    assert_eq!((ran.turns, ran.errors), (1, 0));
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes, ["done"]);
    let info = ThreadInfo::read(&*store.store, &"t".into()).await.unwrap().unwrap();
    assert_eq!((info.requested_at, info.status), (None, StatusKind::Finished));
}

#[rstest]
#[tokio::test]
async fn a_request_for_nothing_ends_with_the_turn(#[values(Store::memory(), Store::disk())] store: Store) {
    let builder = Builder::new().add_node(id("a"), note("a"));
    let graph = chain(builder, &["a"]).named("pad").with_shared_checkpointer(Arc::clone(&store.store));
    graph.thread("t").invoke(start()).await.unwrap();
    graph.thread("t").request_run().await.unwrap();
    let ran = runner([graph.clone()]).run(Until::Idle).await.unwrap();
    assert_eq!(ran.turns, 1);
    let info = ThreadInfo::read(&*store.store, &"t".into()).await.unwrap().unwrap();
    assert_eq!((info.requested_at, info.status), (None, StatusKind::Finished));
}

#[rstest]
#[tokio::test]
async fn a_request_is_refused_while_a_run_holds_the_thread(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = chain(Builder::new().add_node(id("a"), note("a")), &["a"]);
    let thread = store.thread(&graph);
    assert!(matches!(thread.request_run().await.unwrap_err(), RunError::UnknownThread { .. }));
    thread.invoke(start()).await.unwrap();
    let lease = store.store.claim(&"t".into(), Claim::IfFree).await.unwrap();
    let busy = thread.request_run().await.unwrap_err();
    assert!(matches!(busy, RunError::Checkpoint(CheckpointError::ThreadBusy { .. })), "{busy}");
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn a_runner_outlasts_an_outage_of_its_store() {
    let counting = Counting::new(&Store::memory());
    let builder = Builder::new().add_node(id("a"), note("a"));
    let store: Arc<dyn Checkpointer> = Arc::clone(&counting) as _;
    let graph = chain(builder, &["a"]).named("pad").with_shared_checkpointer(store);
    graph.thread("t").max_supersteps(0).invoke(start()).await.unwrap();
    counting.has_outages(1);
    let ended = runner([graph.clone()]).run(Until::Idle).await.unwrap_err();
    assert!(matches!(ended, RunError::Checkpoint(CheckpointError::Outage { .. })), "{ended}");
    counting.has_outages(3);
    let report = runner([graph.clone()]).run(Until::For(Duration::from_secs(60))).await.unwrap();
    assert_eq!((report.turns, graph.thread("t").status().await.unwrap().kind()), (1, StatusKind::Finished));
}

#[rstest]
#[tokio::test]
async fn a_runner_leaves_threads_of_other_machines_alone(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(true, false)] is_new: bool,
) {
    let builder = Builder::new().add_node(id("a"), note("a"));
    let graph = chain(builder, &["a"]).named("pad").with_shared_checkpointer(Arc::clone(&store.store));
    let mut elsewhere = ThreadPlace::here("/work");
    elsewhere.machine = "another".into();
    for (name, place) in [("here", ThreadPlace::here("/work")), ("elsewhere", elsewhere)] {
        let thread = graph.thread(name).max_supersteps(0);
        if !is_new {
            thread.clone().invoke(start()).await.unwrap();
        }
        let thread = thread.place(place.clone());
        _ = if is_new { thread.invoke(start()).await.unwrap() } else { thread.proceed().await.unwrap() };
        let info = ThreadInfo::read(&*store.store, &name.into()).await.unwrap().unwrap();
        assert_eq!(info.place, Some(place));
    }
    assert_eq!(runner([graph.clone()]).run(Until::Idle).await.unwrap().turns, 1);
    let here = ThreadInfo::read(&*store.store, &"here".into()).await.unwrap().unwrap();
    assert_eq!(here.status, StatusKind::Finished);
    let left = ThreadInfo::read(&*store.store, &"elsewhere".into()).await.unwrap().unwrap();
    assert_eq!(
        (left.status, serde_json::to_value(&left).unwrap()["place"]["path"].clone()),
        (StatusKind::Pending, "/work".into())
    );
}
