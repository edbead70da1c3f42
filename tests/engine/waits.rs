//! Waiting for a time, across processes.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rstest::rstest;
use superstep::graph::runner::Until;
use superstep::graph::{Answer, Boxed, CancellationToken, StatusKind, ThreadInfo, runner};
use superstep::prelude::*;

use crate::clock::{Hand, at};
use crate::pad::*;
use crate::stores::Store;

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
async fn a_wait_survives_its_process_and_ends_at_its_time(
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
async fn a_wait_for_a_past_time_is_over() {
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
async fn without_a_store_a_wait_blocks_its_task() {
    let tally = Tally::default();
    let graph = chain(Builder::new().add_node(id("nap"), sleepy(&tally)), &["nap"]);
    let start_time = tokio::time::Instant::now();
    let outcome = graph.invoke(start()).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), tally.count()), ("slept".into(), 1));
    assert!(start_time.elapsed() >= Duration::from_secs(29));
}

#[tokio::test]
async fn new_input_is_refused_while_a_task_waits() {
    let (store, tally) = (Store::memory(), Tally::default());
    let graph = chain(Builder::new().add_node(id("nap"), sleepy(&tally)), &["nap"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "thread `t` is unfinished: `nap` has not finished");
}

/// Returns the standing that a list shows for the thread at a time.
async fn listed(store: &Store, seconds: u64) -> StatusKind {
    ThreadInfo::read_at(&*store.store, &"t".into(), at(seconds)).await.unwrap().unwrap().status
}

#[rstest]
#[tokio::test]
async fn a_thread_waits_only_if_nothing_else_can_run(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] inside: bool,
) {
    let (hand, tally, token) = (Hand::default(), Tally::default(), CancellationToken::new());
    let cancel = token.clone();
    let stuck = move |_: Arc<Pad>, _: Ctx| {
        let first = !cancel.is_cancelled();
        cancel.cancel();
        async move { if first { std::future::pending().await } else { Ok::<_, NodeError>(Pad::update().notes(["went"])) } }
    };
    let graph = fan(Builder::new().add_node(id("nap"), sleepy(&tally)).add_node(id("stuck"), stuck), &["nap", "stuck"]);
    let graph = if inside { chain(Builder::new().add_subgraph(id("outer"), graph), &["outer"]) } else { graph };
    let thread = || hand.on(store.thread(&graph));
    hand.set(100);
    let outcome = thread().max_concurrency(1).cancel_with(token).invoke(start()).await.unwrap();
    assert!(matches!(outcome, Outcome::Cancelled(_)), "{outcome:?}");
    let status = thread().status().await.unwrap();
    assert_eq!((status.kind(), listed(&store, 100).await), (StatusKind::Pending, StatusKind::Pending));
    assert_eq!(until(&thread().proceed().await.unwrap()), 110);
    assert_eq!((waits(thread()).await, tally.count()), (Some(110), 1));
    assert_eq!((listed(&store, 109).await, listed(&store, 110).await), (StatusKind::Waiting, StatusKind::Pending));
    let all = ThreadInfo::all_at(&*store.store, at(109)).await.unwrap();
    assert_eq!(all.iter().map(|info| info.status).collect::<Vec<_>>(), [StatusKind::Waiting]);
}

#[rstest]
#[tokio::test]
async fn an_answer_that_is_only_recorded_lets_a_waiting_task_run(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let hand = Hand::default();
    let graph = chain(Builder::new().add_node(id("node"), beside("nap", "ask").asks::<Approve>()), &["node"]);
    let thread = || hand.on(store.thread(&graph));
    thread().invoke(start()).await.unwrap();
    let token = CancellationToken::new();
    token.cancel();
    thread().cancel_with(token).resume::<Approve>(true).await.unwrap();
    let status = thread().status().await.unwrap();
    assert_eq!((status.kind(), listed(&store, 0).await), (StatusKind::Pending, StatusKind::Pending));
    assert_eq!(until(&thread().proceed().await.unwrap()), 10);
}

#[rstest]
#[tokio::test]
async fn a_wait_in_a_subgraph_ends_when_the_subgraph_is_updated(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] asks: bool,
) {
    let (hand, tally, after) = (Hand::default(), Tally::default(), Tally::default());
    let naps = Builder::new().add_node(id("nap"), sleepy(&tally)).add_node(id("after"), tallied(&after, "after"));
    let naps = chain(naps, &["nap", "after"]);
    let middle = Builder::new().add_node(id("ask"), approval.asks::<Approve>()).add_subgraph(id("naps"), naps.clone());
    let middle = if asks { fan(middle, &["ask", "naps"]) } else { fan(middle.allow(Lint::Unreachable), &["naps"]) };
    let graph = chain(Builder::new().add_subgraph(id("outer"), middle), &["outer"]);
    let thread = || hand.on(store.thread(&graph));
    hand.set(100);
    thread().invoke(start()).await.unwrap();
    let inside = thread().subgraph(&naps, ["outer", "naps"]);
    inside.update_state_as(id("nap"), Pad::update().notes(["by hand"])).await.unwrap();
    let made = inside.state().await.unwrap().unwrap().created_at;
    assert_eq!(made, 100_000, "by the clock of the handle");
    let standing = if asks { StatusKind::Interrupted } else { StatusKind::Pending };
    let status = thread().status().await.unwrap();
    assert_eq!((status.kind(), listed(&store, 100).await), (standing, standing));
    let mut outcome = thread().proceed().await.unwrap();
    assert_eq!((after.count(), tally.count()), (1, 1), "{outcome:?}");
    if asks {
        outcome = thread().resume::<Approve>(true).await.unwrap();
    }
    let notes = outcome.finished().unwrap().notes.clone();
    assert_eq!(notes.join(","), if asks { "approved: true,by hand,after" } else { "by hand,after" });
}

/// A node that does two things in parallel: sleeps, asks, or calls a graph that does.
fn beside(one: &'static str, other: &'static str) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone {
    move |_, ctx: Ctx| {
        Box::pin(async move {
            let (one, other) = tokio::join!(part(one, &ctx), part(other, &ctx));
            Ok(Pad::update().notes([one?, other?]))
        })
    }
}

async fn part(what: &str, ctx: &Ctx) -> Result<String, NodeError> {
    match what {
        "nap" => ctx.sleep(Duration::from_secs(10)).await?,
        "ask" => return Ok(format!("{}", ctx.interrupt(Approve)?)),
        _ => {
            let called = ctx.call(&called(what), start()).await?;
            return Ok(called.notes.join("+"));
        }
    }
    Ok("slept".into())
}

/// The graph that a node calls.
fn called(what: &str) -> Graph {
    match what {
        "call that asks" => chain(Builder::new().add_node(id("asks"), approval.asks::<Approve>()), &["asks"]),
        _ => chain(Builder::new().add_node(id("naps"), sleepy(&Tally::default())), &["naps"]),
    }
}

#[rstest]
#[case("nap", "call that asks", 1, Some(10), "slept,approved: true")]
#[case("call that asks", "nap", 1, Some(10), "approved: true,slept")]
#[case("nap", "ask", 1, Some(10), "slept,true")]
#[case("ask", "nap", 1, Some(10), "true,slept")]
#[case("ask", "call that naps", 1, Some(10), "true,slept")]
#[case("call that naps", "ask", 1, Some(10), "slept,true")]
#[case("ask", "call that asks", 2, None, "true,approved: true")]
#[case("call that asks", "ask", 2, None, "approved: true,true")]
#[tokio::test]
async fn a_task_that_asks_and_waits_in_parallel_shows_both(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[case] one: &'static str,
    #[case] other: &'static str,
    #[case] question_count: usize,
    #[case] wake: Option<u64>,
    #[case] notes: &str,
) {
    let hand = Hand::default();
    let builder = Builder::new().add_node(id("node"), beside(one, other).asks::<Approve>());
    let builder = builder.calls(&id("node"), &called("call that asks")).calls(&id("node"), &called("call that naps"));
    let graph = chain(builder, &["node"]);
    let thread = || hand.on(store.thread(&graph));
    let mut outcome = thread().invoke(start()).await.unwrap();
    assert_eq!(outcome.questions().len(), question_count, "{outcome:?}");
    let task = thread().state().await.unwrap().unwrap().tasks.remove(0);
    if one != "call that asks" || wake.is_none() {
        assert_eq!(task.wake, wake.map(at));
    }
    for question in outcome.questions().to_vec() {
        outcome = thread().answer(Answer::new::<Approve>(&true).to(question.id())).await.unwrap();
    }
    for seconds in [10, 30].into_iter().filter(|_| wake.is_some()) {
        if let Outcome::Finished(_) = outcome {
            break;
        }
        assert_eq!(until(&outcome), seconds);
        hand.set(seconds);
        outcome = thread().proceed().await.unwrap();
    }
    assert_eq!(outcome.finished().unwrap().notes.join(","), notes);
}

#[rstest]
#[tokio::test]
async fn an_undeclared_question_during_a_wait_fails_at_once(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph =
        chain(Builder::new().add_node(id("node"), beside("nap", "ask").asks::<crate::pad::Rename>()), &["node"]);
    let error = Hand::default().on(store.thread(&graph)).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::UndeclaredQuestion { .. }), "{error}");
}

#[rstest]
#[tokio::test]
async fn answers_and_copies_for_a_fork_are_dated_by_the_clock_of_the_handle(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (hand, tally) = (Hand::default(), Tally::default());
    let builder = Builder::new().add_node(id("ask"), approval.asks::<Approve>()).add_node(id("nap"), sleepy(&tally));
    let child = fan(builder, &["ask", "nap"]);
    let graph = chain(Builder::new().add_subgraph(id("outer"), child.clone()), &["outer"]);
    let thread = || hand.on(store.thread(&graph));
    let inside = || thread().subgraph(&child, ["outer"]);
    hand.set(100);
    thread().invoke(start()).await.unwrap();
    hand.set(105);
    thread().resume::<Approve>(true).await.unwrap();
    let answers: Vec<u64> =
        inside().state().await.unwrap().unwrap().tasks.iter().flat_map(|task| &task.answers).map(|a| a.at).collect();
    assert_eq!(answers, [105_000]);
    hand.set(107);
    let from = inside().state().await.unwrap().unwrap().id;
    thread().at(from).proceed().await.unwrap();
    let root: Vec<u64> = thread().history().await.unwrap().all().await.unwrap().iter().map(|c| c.created_at).collect();
    assert_eq!(root.first(), Some(&107_000), "{root:?}");
    assert_eq!(inside().state().await.unwrap().unwrap().created_at, 107_000);
}

#[tokio::test]
async fn a_runner_resumes_a_task_however_often_it_sleeps() {
    let (store, hand) = (Store::memory(), Hand::default());
    let naps = |_: Arc<Pad>, ctx: Ctx| -> Boxed<'static, Ended> {
        Box::pin(async move {
            for _ in 0..6 {
                ctx.sleep(Duration::from_secs(1)).await?;
            }
            Ok(Pad::update().notes(["slept"]))
        })
    };
    let graph = chain(Builder::new().add_node(id("nap"), naps), &["nap"]);
    let graph = graph.with_shared_checkpointer(Arc::clone(&store.store));
    hand.on(graph.thread("t")).invoke(start()).await.unwrap();
    let (own, next) = (hand.clone(), hand.clone());
    let drives = runner([graph.clone()]).clock(move || own.now());
    let drives = drives.poll_every(Duration::from_millis(1)).on_stop(move |_| {
        next.tick();
        async {}
    });
    hand.set(1);
    let report = drives.run(Until::Idle).await.unwrap();
    assert_eq!((report.turns, report.given_up), (6, vec![]));
}
