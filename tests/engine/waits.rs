//! Waiting for a time, across processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rstest::rstest;
use superstep::graph::Boxed;
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A clock that stands until it is set, in seconds.
#[derive(Clone, Debug, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }

    fn on(&self, thread: PadThread) -> PadThread {
        let hand = self.clone();
        thread.clock(move || at(hand.0.load(Ordering::SeqCst)))
    }
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// A node that waits for ten seconds, and then for twenty more.
fn sleepy(tally: &Tally) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, ctx: Ctx| {
        tally.add("");
        Box::pin(async move {
            ctx.sleep(Duration::from_secs(10)).await?;
            ctx.sleep(Duration::from_secs(20)).await?;
            Ok(Pad::update().notes(["slept"]))
        })
    }
}

fn until(outcome: &Outcome<Pad>) -> u64 {
    match outcome {
        Outcome::Waiting { until, .. } => until.duration_since(UNIX_EPOCH).unwrap().as_secs(),
        other => panic!("{other:?}"),
    }
}

async fn waits(thread: PadThread) -> Option<u64> {
    match thread.status().await.unwrap() {
        Status::Waiting { until, .. } => Some(until.duration_since(UNIX_EPOCH).unwrap().as_secs()),
        _ => None,
    }
}

#[rstest]
#[tokio::test]
async fn a_wait_outlives_its_process_and_is_over_when_its_time_has_come(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] inside: bool,
) {
    let (hand, tally) = (Hand::default(), Tally::default());
    let graph = chain(Builder::new().add_node(id("nap"), sleepy(&tally)), &["nap"]);
    let graph = if inside { chain(Builder::new().add_subgraph(id("outer"), graph), &["outer"]) } else { graph };
    let thread = || hand.on(store.thread(&graph)).durability(durability);
    hand.set(100);
    assert_eq!(until(&thread().invoke(start()).await.unwrap()), 110);
    assert_eq!(waits(thread()).await, Some(110));
    hand.set(109);
    assert_eq!(until(&thread().proceed().await.unwrap()), 110);
    assert_eq!(tally.count(), 1, "nothing runs before its time");
    hand.set(115);
    assert!(matches!(thread().status().await.unwrap(), Status::Pending { .. }));
    assert_eq!(until(&thread().proceed().await.unwrap()), 135, "the second wait begins when the first is over");
    hand.set(200);
    let end = thread().proceed().await.unwrap();
    assert_eq!((end.finished().unwrap().notes.join(","), tally.count()), ("slept".into(), 3));
}

#[rstest]
#[tokio::test]
async fn siblings_of_a_wait_finish_and_a_question_comes_first(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] inside: bool,
) {
    let (hand, tally, quick) = (Hand::default(), Tally::default(), Tally::default());
    let builder = Builder::new()
        .add_node(id("ask"), approval.asks::<Approve>())
        .add_node(id("nap"), sleepy(&tally))
        .add_node(id("quick"), tallied(&quick, "quick"));
    let graph = fan(builder, &["ask", "nap", "quick"]);
    let graph = if inside { chain(Builder::new().add_subgraph(id("outer"), graph), &["outer"]) } else { graph };
    let thread = || hand.on(store.thread(&graph));
    let outcome = thread().invoke(start()).await.unwrap();
    assert_eq!(outcome.questions().len(), 1, "{outcome:?}");
    hand.set(50);
    let outcome = thread().proceed().await.unwrap();
    assert_eq!((outcome.questions().len(), tally.count()), (1, 2), "the wait goes on beside the open question");
    assert_eq!(until(&thread().resume::<Approve>(true).await.unwrap()), 70);
    hand.set(70);
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(","), quick.count()), ("approved: true,slept,quick".into(), 1));
}

#[tokio::test]
async fn a_wait_for_a_time_that_is_past_is_over() {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async move {
            ctx.sleep_until(at(5)).await?;
            Ok(Pad::update().notes(["on"]))
        })
    };
    let graph = chain(Builder::new().add_node(id("node"), node), &["node"]);
    let outcome = Store::memory().thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(outcome.state().notes.join(","), "on");
}

#[tokio::test(start_paused = true)]
async fn without_a_store_a_wait_is_one_in_place() {
    let tally = Tally::default();
    let graph = chain(Builder::new().add_node(id("nap"), sleepy(&tally)), &["nap"]);
    let begun = tokio::time::Instant::now();
    let outcome = graph.invoke(start()).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), tally.count()), ("slept".into(), 1));
    assert!(begun.elapsed() >= Duration::from_secs(29));
}

#[tokio::test]
async fn new_input_is_refused_while_a_task_waits() {
    let (store, tally) = (Store::memory(), Tally::default());
    let graph = chain(Builder::new().add_node(id("nap"), sleepy(&tally)), &["nap"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "thread `t` is not at rest: `nap` has not finished");
}
