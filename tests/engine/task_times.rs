//! Times of tasks that run beside others.

use std::sync::Arc;

use rstest::rstest;
use superstep::prelude::*;

use crate::clock::Hand;
use crate::pad::*;
use crate::stores::Store;

/// The tasks of the newest superstep but one, with the seconds at which they were started and ended.
async fn times(thread: &PadThread, nodes: &[&str]) -> Vec<(Option<u64>, Option<u64>)> {
    let outlines = thread.history().await.unwrap().outline_with_tasks().await.unwrap();
    let tasks: Vec<_> = outlines.iter().flat_map(|outline| &outline.tasks).collect();
    let of = |node: &&str| tasks.iter().find(|task| task.name == *node).unwrap();
    let seconds = |time: Option<u64>| time.map(|millis| millis / 1000);
    nodes.iter().map(of).map(|task| (seconds(task.started_at), seconds(task.ended_at))).collect()
}

#[rstest]
#[tokio::test]
async fn tasks_that_run_beside_others_have_times_of_their_own(#[values(Store::memory(), Store::disk())] store: Store) {
    let hand = Hand::default();
    hand.set(10);
    let clock = hand.clone();
    let slow = move |_: Arc<Pad>, ctx: Ctx| {
        let clock = clock.clone();
        async move {
            tokio::task::yield_now().await;
            clock.tick();
            let approved = ctx.interrupt(Approve)?;
            Ok::<_, NodeError>(Pad::update().notes([format!("{approved}")]))
        }
    };
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), slow.asks::<Approve>());
    let graph = fan(builder, &["a", "b"]);
    let thread = || hand.on(store.thread(&graph));
    thread().invoke(start()).await.unwrap();
    assert_eq!(times(&thread(), &["a", "b"]).await, [(Some(10), Some(10)), (Some(10), None)]);
    hand.set(60);
    thread().resume::<Approve>(true).await.unwrap();
    assert_eq!(times(&thread(), &["a", "b"]).await, [(Some(10), Some(10)), (Some(10), Some(61))]);
}
