//! Terms in time hold by the recorded time, also for what arrives, or ends, while nobody runs the thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use rstest::rstest;
use superstep::graph::{Answer, CancellationToken, Persistence};
use superstep::prelude::*;
use tokio::time::Instant;

use crate::clock::{Hand, at};
use crate::pad::*;
use crate::signals::{Word, word};
use crate::stores::Store;

/// A node that waits ten seconds for a word, then takes one without an end if it is asked to.
fn hears(then: bool) -> Graph {
    let body = move |_: Arc<Pad>, ctx: Ctx| async move {
        let first = ctx.receive_within::<Word>(Duration::from_secs(10)).await?;
        let mut notes = vec![first.map_or("none".to_owned(), |word| word.0)];
        if then {
            notes.push(ctx.receive::<Word>().await?.0);
        }
        Ok::<_, NodeError>(Pad::update().notes(notes))
    };
    chain(Builder::new().add_node(id("hear"), body.receives::<Word>().replayable()), &["hear"])
}

#[rstest]
#[case::before_the_end(&[9], "9")]
#[case::at_the_end(&[10], "10")]
#[case::after_the_end(&[11], "none")]
#[case::one_of_each(&[8, 12], "8")]
#[tokio::test]
async fn a_signal_is_in_time_if_it_was_sent_in_time(
    #[case] sent: &[u64],
    #[case] heard: &str,
    #[values(10, 11, 500)] resumed: u64,
    #[values(None, Some(Persistence::Inherit), Some(Persistence::Stateless))] inside: Option<Persistence>,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (hand, mut graph) = (Hand::default(), hears(false));
    if let Some(persistence) = inside {
        graph = chain(Builder::new().add_subgraph(id("outer"), graph.persistence(persistence)), &["outer"]);
    }
    let thread = || hand.on(store.thread(&graph));
    assert!(matches!(thread().invoke(start()).await.unwrap(), Outcome::AwaitingSignal { .. }));
    for &second in sent {
        hand.set(second);
        thread().signal(word(&second.to_string())).await.unwrap();
    }
    hand.set(resumed.max(*sent.last().unwrap()));
    let end = thread().proceed().await.unwrap().finished().unwrap();
    let left = thread().mailbox().await.unwrap().len();
    assert_eq!((end.notes.join(" "), left), (heard.to_owned(), sent.len() - usize::from(heard != "none")));
    if inside != Some(Persistence::Stateless) {
        assert!(thread().verify().await.unwrap().agrees());
    }
}

#[rstest]
#[tokio::test]
async fn a_signal_that_is_late_for_one_wait_is_for_the_next(#[values(Store::memory(), Store::disk())] store: Store) {
    let (hand, graph) = (Hand::default(), hears(true));
    let thread = || hand.on(store.thread(&graph));
    thread().invoke(start()).await.unwrap();
    hand.set(20);
    thread().signal(word("late")).await.unwrap();
    let end = thread().proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.join(" "), "none late");
}

/// A sender's clock may be ahead of that of the process that runs the thread.
#[tokio::test]
async fn a_signal_from_after_the_end_does_not_wake_the_task_before_it() {
    let (store, hand, graph) = (Store::memory(), Hand::default(), hears(false));
    let thread = || hand.on(store.thread(&graph));
    thread().invoke(start()).await.unwrap();
    hand.set(11);
    thread().signal(word("ahead")).await.unwrap();
    hand.set(5);
    assert!(matches!(thread().status().await.unwrap(), Status::AwaitingSignal { .. }));
    assert!(matches!(thread().proceed().await.unwrap(), Outcome::AwaitingSignal { .. }));
    hand.set(10);
    assert_eq!(thread().proceed().await.unwrap().state().notes.join(" "), "none");
}

/// The clock moves on by a millisecond with each look at it.
#[tokio::test]
async fn no_answer_or_vote_is_stored_with_a_time_after_the_end() {
    for (approvals, before) in (0..60).flat_map(|before| [(1, before), (2, before)]) {
        let body = move |_: Arc<Pad>, ctx: Ctx| async move {
            let answer = ctx.ask(Approve).approvals(approvals).expires_after(Duration::from_secs(10)).default(false);
            Ok::<_, NodeError>(Pad::update().notes([answer.await?.to_string()]))
        };
        let graph = chain(Builder::new().add_node(id("ask"), body.asks::<Approve>()), &["ask"]);
        let (store, hand) = (Store::memory(), Hand::default());
        hand.on(store.thread(&graph)).invoke(start()).await.unwrap();
        let now = Arc::new(AtomicU64::new(10_000 - before));
        let ticking = move || UNIX_EPOCH + Duration::from_millis(now.fetch_add(1, Ordering::SeqCst));
        let given = store.thread(&graph).clock(ticking).answer(Answer::new::<Approve>(&true).by("ada")).await;
        let made = store.thread(&graph).history().await.unwrap().all().await.unwrap();
        let tasks = made.iter().flat_map(|made| &made.tasks);
        let answers = tasks.clone().flat_map(|task| &task.answers).map(|answer| answer.at);
        let votes = tasks.flat_map(|task| &task.questions).flat_map(|asked| asked.votes()).map(|vote| vote.at);
        let late = answers.chain(votes).find(|at| *at >= 10_000);
        assert_eq!(late, None, "{before} ms before the end: {given:?}");
    }
}

#[rstest]
#[case::in_the_pause(20, 40)]
#[case::after_it(100, 0)]
#[tokio::test(start_paused = true)]
async fn the_pause_before_an_attempt_holds_for_the_next_process(
    #[case] resumed: u64,
    #[case] left: u64,
    #[values(false, true)] cancelled: bool,
    #[values(false, true)] beside: bool,
) {
    let (store, hand, tally) = (Store::memory(), Hand::default(), Tally::default());
    let own = tally.clone();
    let body = move |_: Arc<Pad>, _: Ctx| {
        let failed = own.add("") == 1;
        async move { if failed { Err(NodeError::from("busy")) } else { Ok(Pad::update().notes(["done"])) } }
    };
    let body = body.retry(RetryPolicy::attempts(3).pause(Duration::from_secs(60)));
    let nodes = Builder::new().add_node(id("a"), body).add_node(id("b"), note("b"));
    let graph = if beside { fan(nodes, &["a", "b"]) } else { chain(nodes, &["a", "b"]) };
    let thread = || hand.on(store.thread(&graph));
    let token = CancellationToken::new();
    let run = tokio::spawn({
        let thread = thread().cancel_with(token.clone());
        async move { thread.invoke(start()).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    if cancelled {
        token.cancel();
        run.await.unwrap().unwrap();
    } else {
        run.abort();
        run.await.unwrap_err();
    }
    assert_eq!(tally.count(), 1);
    let failed = &thread().state().await.unwrap().unwrap().tasks[0];
    assert_eq!((failed.failures.len(), failed.wake), (1, Some(at(60))));

    hand.set(resumed);
    let began = Instant::now();
    let end = thread().proceed().await.unwrap().finished().unwrap();

    assert_eq!((began.elapsed().as_secs(), tally.count()), (left, 2));
    assert!(end.notes.contains(&"done".to_owned()));
    let made = thread().history().await.unwrap().all().await.unwrap();
    let task = made.iter().flat_map(|made| &made.tasks).find(|task| task.name == "a").unwrap();
    assert_eq!((task.attempts, task.failures.len(), task.wake), (2, 1, None));
}
