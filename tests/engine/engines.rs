//! Workers of an engine that says where and when a thread runs: one call is one turn of one thread.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{Claim, OwnerRequest, ThreadPlace};
use superstep::graph::runner::{Dispatch, EngineWorker, NextCall, StoreDispatch};
use superstep::graph::{StatusKind, runner};
use superstep::prelude::*;
use tokio::sync::watch;

use crate::pad::*;
use crate::stores::Store;

const NOW: NextCall = NextCall::After(Duration::ZERO);

fn worker(graph: &Graph) -> Arc<EngineWorker> {
    Arc::new(runner([graph.clone()]).called_by("test").unwrap())
}

fn graph_over(store: &Store, builder: Builder, nodes: &[&str]) -> Graph {
    chain(builder, nodes).named("pad").with_shared_checkpointer(Arc::clone(&store.store))
}

/// Stores an input, and runs nothing.
async fn queue(graph: &Graph) -> PadThread {
    let thread = graph.thread("t");
    thread.clone().max_supersteps(0).invoke(start()).await.unwrap();
    thread
}

async fn kind(thread: &PadThread) -> StatusKind {
    thread.status().await.unwrap().kind()
}

#[rstest]
#[tokio::test]
async fn a_question_ends_the_call_and_its_answer_is_the_next(#[values(Store::memory(), Store::disk())] store: Store) {
    let nodes = Builder::new().add_node(id("a"), note("a")).add_node(id("ask"), approval.asks::<Approve>());
    let graph = graph_over(&store, nodes, &["a", "ask"]);
    let (worker, thread) = (worker(&graph), queue(&graph).await);
    assert_eq!(worker.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(kind(&thread).await, StatusKind::Interrupted);
    assert_eq!(worker.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(kind(&thread).await, StatusKind::Interrupted);
    thread.clone().max_supersteps(0).resume::<Approve>(true).await.unwrap();
    assert_eq!(worker.lost().await.unwrap(), ["t".into()]);
    assert_eq!(worker.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(kind(&thread).await, StatusKind::Finished);
    assert_eq!(worker.lost().await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn a_sleep_is_a_later_call(#[values(Store::memory(), Store::disk())] store: Store) {
    let nap = |_: Arc<Pad>, ctx: Ctx| async move {
        ctx.sleep(Duration::from_secs(3600)).await?;
        Ok::<_, NodeError>(Pad::update())
    };
    let graph = graph_over(&store, Builder::new().add_node(id("nap"), nap), &["nap"]);
    let (worker, thread) = (worker(&graph), queue(&graph).await);
    for _ in 0..2 {
        let NextCall::After(time) = worker.turn(&"t".into()).await.unwrap() else { panic!("it does not sleep") };
        assert!(time > Duration::from_secs(3500) && time <= Duration::from_secs(3601), "{time:?}");
    }
    assert_eq!(kind(&thread).await, StatusKind::Waiting);
}

#[rstest]
#[tokio::test]
async fn a_thread_that_somebody_else_runs_is_busy(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = graph_over(&store, Builder::new().add_node(id("a"), note("a")), &["a"]);
    let (worker, thread) = (worker(&graph), queue(&graph).await);
    for claim in [Claim::IfFree, Claim::ForEngine("another")] {
        let lease = store.store.claim(&"t".into(), claim).await.unwrap();
        let next = worker.turn(&"t".into()).await.unwrap();
        assert!(matches!(&next, NextCall::Busy(owner) if owner.is_this_process()), "{next:?}");
        lease.release().await.unwrap();
    }
    assert_eq!(worker.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(kind(&thread).await, StatusKind::Finished);
}

/// A call that runs in its second node until the gate opens.
struct RunningCall {
    thread: PadThread,
    tally: Tally,
    open: watch::Sender<bool>,
    worker: Arc<EngineWorker>,
    call: tokio::task::JoinHandle<Result<NextCall, RunError>>,
}

async fn running(store: &Store) -> RunningCall {
    let (open, gate) = watch::channel(false);
    let tally = Tally::default();
    let nodes = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), gated(&tally, "b", &gate));
    let graph = graph_over(store, nodes, &["a", "b"]);
    let (worker, thread) = (worker(&graph), queue(&graph).await);
    let called = Arc::clone(&worker);
    let call = tokio::spawn(async move { called.turn(&"t".into()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    RunningCall { thread, tally, open, worker, call }
}

#[rstest]
#[tokio::test]
async fn the_next_call_of_the_engine_takes_a_thread_over(#[values(Store::memory(), Store::disk())] store: Store) {
    let RunningCall { thread, tally, open, worker, call } = running(&store).await;
    let second = tokio::spawn(async move { worker.turn(&"t".into()).await });
    call.await.unwrap().unwrap();
    while tally.count() < 2 {
        tokio::task::yield_now().await;
    }
    open.send(true).unwrap();
    assert_eq!(second.await.unwrap().unwrap(), NextCall::WhenWoken);
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_cancelled_thread_is_left_alone_until_somebody_asks_for_it(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let RunningCall { thread, tally, open, worker, call } = running(&store).await;
    StoreDispatch::new(Arc::clone(&store.store)).cancel(&"t".into()).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap(), NextCall::WhenWoken);
    assert_eq!(worker.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!((worker.lost().await.unwrap(), tally.count()), (vec![], 1));
    thread.request_run().await.unwrap();
    open.send(true).unwrap();
    assert_eq!(worker.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(kind(&thread).await, StatusKind::Finished);
}

#[rstest]
#[tokio::test]
async fn a_worker_that_stops_lets_supersteps_end(#[values(Store::memory(), Store::disk())] store: Store) {
    let (open, gate) = watch::channel(false);
    let tally = Tally::default();
    let nodes = Builder::new().add_node(id("a"), gated(&tally, "a", &gate)).add_node(id("b"), note("b"));
    let graph = graph_over(&store, nodes, &["a", "b"]);
    let (first, thread) = (worker(&graph), queue(&graph).await);
    let called = Arc::clone(&first);
    let call = tokio::spawn(async move { called.turn(&"t".into()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    let stopping = tokio::spawn({
        let first = Arc::clone(&first);
        async move { first.stop().await }
    });
    first.stopping().cancelled().await;
    open.send(true).unwrap();
    stopping.await.unwrap();
    assert_eq!((call.await.unwrap().unwrap(), kind(&thread).await), (NOW, StatusKind::Pending));
    assert_eq!((first.turn(&"t".into()).await.unwrap(), kind(&thread).await), (NOW, StatusKind::Pending));
    assert_eq!(worker(&graph).turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(thread.state().await.unwrap().unwrap().values.notes, ["a", "b"]);
}

#[rstest]
#[tokio::test]
async fn a_thread_of_another_program_or_machine_is_elsewhere(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = graph_over(&store, Builder::new().add_node(id("a"), note("a")), &["a"]);
    let other = worker(&graph.clone().named("other"));
    assert_eq!(other.turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    let thread = queue(&graph).await;
    assert_eq!(other.turn(&"t".into()).await.unwrap(), NextCall::Elsewhere("this program has no graph `pad`".into()));
    let mut place = ThreadPlace::here("/work");
    place.machine = "another".into();
    thread.clone().place(place).max_supersteps(0).proceed().await.unwrap();
    let next = worker(&graph).turn(&"t".into()).await.unwrap();
    assert!(matches!(&next, NextCall::Elsewhere(why) if why.contains("/work")), "{next:?}");
    assert_eq!(kind(&thread).await, StatusKind::Pending);
}

#[rstest]
#[tokio::test]
async fn a_thread_without_progress_is_given_up(#[values(Store::memory(), Store::disk())] store: Store) {
    use superstep::graph::runner::TurnEnd;
    let graph = graph_over(&store, Builder::new().add_node(id("a"), note("a")), &["a"]);
    let lazy = runner([graph.clone()]).max_resumes(2).drive_with(|_| async { Ok(TurnEnd::default()) });
    let (lazy, thread) = (lazy.called_by("test").unwrap(), queue(&graph).await);
    let calls = [NOW, NOW, NextCall::WhenWoken, NextCall::WhenWoken];
    for next in calls {
        assert_eq!(lazy.turn(&"t".into()).await.unwrap(), next);
    }
    assert_eq!((lazy.lost().await.unwrap().len(), kind(&thread).await), (1, StatusKind::Pending));
    thread.request_run().await.unwrap();
    assert_eq!(worker(&graph).turn(&"t".into()).await.unwrap(), NextCall::WhenWoken);
    assert_eq!(kind(&thread).await, StatusKind::Finished);
    _ = store.store.send(&"t".into(), OwnerRequest::Cancel).await.unwrap();
}
