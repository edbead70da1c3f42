//! Several askers within one task: each gets the answers to its own questions, in any order.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::graph::{Boxed, InterruptId, Persistence, Question};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// A node that asks twice, notes the answers, and fails the first time it has all of them if `fails`.
fn asks_twice(tally: &Tally, fails: bool) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, ctx| {
        let tally = tally.clone();
        Box::pin(async move {
            let who = format!("{}.{}", ctx.node(), ctx.step());
            let one = ctx.interrupt(Rename { from: format!("{who} one") })?;
            let two = ctx.interrupt(Rename { from: format!("{who} two") })?;
            if fails && tally.add(&who) == 1 {
                return Err("no luck".into());
            }
            Ok(Pad::update().notes([format!("{who}: {one}, {two}")]))
        })
    }
}

/// Answers a question; the answer contains the question's text.
fn answer(question: &Question) -> Answer {
    let from = question.payload::<Rename>().unwrap().from;
    Answer::new::<Rename>(&format!("for {from}")).to(question.id())
}

/// Answers one open question at a time, all but one, or all at once, depending on the seed, until the graph ends.
async fn converse(store: &Store, graph: &Graph, seed: usize) -> Vec<String> {
    let mut outcome = store.thread(graph).invoke(start()).await.unwrap();
    for round in 0.. {
        assert!(round < 40, "it never ends");
        let open = outcome.questions().to_vec();
        if open.is_empty() {
            break;
        }
        let pick = (seed / 3 + round) % open.len();
        let takes = |at: usize| open.len() == 1 || [at == pick, at != pick, true][seed % 3];
        let (now, later): (Vec<_>, Vec<_>) = open.iter().enumerate().partition(|(at, _)| takes(*at));
        let request = Request::answers(now.into_iter().map(|(_, question)| answer(question)));
        outcome = store.thread(graph).run(request).await.unwrap();
        let open: Vec<InterruptId> = outcome.questions().iter().map(Question::id).collect();
        assert!(later.iter().all(|(_, question)| open.contains(&question.id())), "an open question keeps its id");
    }
    let mut notes = outcome.finished().unwrap().notes.clone();
    notes.sort();
    notes
}

fn answered(who: &str) -> String {
    format!("{who}: for {who} one, for {who} two")
}

#[rstest]
#[tokio::test]
async fn each_task_of_a_subgraph_takes_the_answers_to_its_own_questions(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread, Persistence::Stateless)] persistence: Persistence,
    #[values(0, 1, 2, 3, 4)] seed: usize,
    #[values(false, true)] fails: bool,
) {
    let tally = Tally::default();
    let again = || RetryPolicy::attempts(2).pause(Duration::ZERO);
    let ask = || asks_twice(&tally, fails).asks::<Rename>().retry(again());
    let inside = Builder::new().add_node(id("x"), ask()).add_node(id("y"), ask()).add_node(id("z"), ask());
    let inside = inside.add_edge(START, [id("x"), id("y")]).add_edge(id("x"), id("z"));
    let inside = inside.compile().unwrap().persistence(persistence);
    let graph = chain(Builder::new().add_subgraph(id("inside"), inside), &["inside"]);
    assert_eq!(converse(&store, &graph, seed).await, [answered("x.1"), answered("y.1"), answered("z.2")]);
}

/// A node that asks twice while two calls of a graph ask twice, in two supersteps.
fn asking_beside_calls(tally: &Tally, persistence: Persistence, fails: bool) -> Graph {
    let ask = || asks_twice(&Tally::default(), false).asks::<Rename>();
    let inside = Builder::new().add_node(id("x"), ask()).add_node(id("y"), ask());
    let inside = chain(inside, &["x", "y"]).persistence(persistence);
    let (child, own) = (inside.clone(), asks_twice(tally, fails));
    let body = move |pad: Arc<Pad>, ctx: Ctx| {
        let (child, own) = (child.clone(), own.clone());
        async move {
            let calls = async { tokio::join!(ctx.call(&child, start()), ctx.call(&child, start())) };
            let ((one, two), own) = tokio::join!(calls, own(pad, ctx.clone()));
            let calls = format!("{} | {}", one?.notes.join(", "), two?.notes.join(", "));
            let _ = own?;
            Ok::<_, NodeError>(Pad::update().notes([calls]))
        }
    };
    let body = body.asks::<Rename>().retry(RetryPolicy::attempts(2).pause(Duration::ZERO));
    chain(Builder::new().add_node(id("a"), body).calls(&id("a"), &inside), &["a"])
}

#[rstest]
#[tokio::test]
async fn concurrent_calls_and_their_body_take_their_own_answers(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread, Persistence::Stateless)] persistence: Persistence,
    #[values(0, 1, 2, 3, 4)] seed: usize,
    #[values(false, true)] fails: bool,
) {
    let graph = asking_beside_calls(&Tally::default(), persistence, fails);
    let one = format!("{}, {}", answered("x.1"), answered("y.2"));
    assert_eq!(converse(&store, &graph, seed).await, [format!("{one} | {one}")]);
}

async fn ask(ctx: Ctx) -> Result<(), NodeError> {
    ctx.interrupt(Approve)?;
    Ok(())
}

/// A node that starts a task of its own, which asks after so many milliseconds, and ends without it.
fn spawning(after: Option<u64>) -> impl Fn(Arc<Pad>, Ctx) -> Boxed<'static, Ended> + Clone + use<> {
    move |_, ctx| {
        Box::pin(async move {
            tokio::spawn(async move {
                if let Some(after) = after {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                }
                ask(ctx).await
            });
            Ok(Pad::update().notes(["on"]))
        })
    }
}

#[rstest]
#[case::at_once(None)]
#[case::later(Some(20))]
#[tokio::test(start_paused = true)]
async fn a_question_of_a_task_that_the_node_does_not_await_is_an_error(
    #[case] after: Option<u64>,
    #[values(false, true)] inside: bool,
    #[values(false, true)] is_last: bool,
) {
    let nodes = Builder::new().add_node(id("a"), spawning(after).asks::<Approve>()).add_node(id("b"), slow);
    let mut graph = if is_last { chain(nodes, &["b", "a"]) } else { chain(nodes, &["a", "b"]) };
    if inside {
        graph = chain(Builder::new().add_subgraph(id("outer"), graph), &["outer"]);
    }
    let store = Store::memory();
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `a` continued although its question `approve` has no answer");
    let state = store.thread(&graph).state().await.unwrap().unwrap();
    let next = [if inside { "outer" } else { "a" }];
    assert_eq!(state.next, next);
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if *reason == error.to_string()), "{status:?}");
}

/// Siblings, sends and durations of questions: the superstep is not stored.
#[rstest]
#[tokio::test(start_paused = true)]
async fn a_question_lost_beside_siblings_leaves_their_superstep_unfinished(
    #[values(None, Some(20))] after: Option<u64>,
    #[values(Durability::Sync, Durability::Exit)] durability: Durability,
) {
    let (store, tally) = (Store::memory(), Tally::default());
    let nodes = Builder::new().add_node(id("a"), spawning(after).asks::<Approve>());
    let nodes = nodes.add_node(id("b"), tallied(&tally, "b")).add_node(id("c"), slow);
    let graph = fan(nodes, &["a", "b", "c"]);
    let error = store.thread(&graph).durability(durability).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `a` continued although its question `approve` has no answer");
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if *reason == error.to_string()), "{status:?}");
    store.thread(&graph).proceed().await.unwrap_err();
    assert_eq!(tally.count(), 1);
}

/// A node that leaves a task with its context in each of many supersteps.
#[tokio::test(start_paused = true)]
async fn contexts_that_many_nodes_leave_behind_delay_a_run_by_little() {
    let leaves = |pad: Arc<Pad>, ctx: Ctx| async move {
        drop(held(Arc::clone(&pad), ctx).await?);
        let command = Command::<Pad, Name>::update(Pad::update().sum(1));
        Ok::<_, NodeError>(if pad.sum < 100 { command.goto(id("a")) } else { command })
    };
    let graph = chain(Builder::new().add_node(id("a"), leaves.asks::<Approve>()), &["a"]);
    let began = tokio::time::Instant::now();
    Store::memory().thread(&graph).invoke(start()).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_question_of_a_task_that_a_failed_attempt_spawned_is_an_error(
    #[values(None, Some(5))] after: Option<u64>,
    #[values(false, true)] handled: bool,
) {
    let (tally, spawn) = (Tally::default(), spawning(after));
    let node = move |pad: Arc<Pad>, ctx: Ctx| {
        let fails = tally.add("") == 1;
        let spawned = fails.then(|| spawn(pad, ctx));
        async move {
            let Some(spawned) = spawned else { return Ok(Pad::update().notes(["on"])) };
            spawned.await.and(Err(NodeError::from("busy")))
        }
    };
    let node = match handled {
        true => node.on_error(|_: Arc<Pad>, _: Failure, _: Ctx| async { Ok::<_, NodeError>(Pad::update()) }),
        false => node.retry(RetryPolicy::attempts(2).pause(Duration::from_millis(20))),
    };
    let graph = chain(Builder::new().add_node(id("a"), node.asks::<Approve>()).add_node(id("b"), slow), &["a", "b"]);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `a` continued although its question `approve` has no answer");
}

/// A node that leaves a task which holds its context and never ends.
async fn held(_: Arc<Pad>, ctx: Ctx) -> Ended {
    tokio::spawn(async move {
        std::future::pending::<()>().await;
        drop(ctx);
    });
    Ok(Pad::update().notes(["on"]))
}

#[tokio::test(start_paused = true)]
async fn a_run_that_declares_no_question_waits_for_no_task_that_it_leaves() {
    let graph = chain(Builder::new().add_node(id("a"), held), &["a"]);
    let began = tokio::time::Instant::now();
    Store::memory().thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[test]
fn a_runtime_without_timers_runs_a_node_that_leaves_a_task() {
    let graph = chain(Builder::new().add_node(id("a"), held.asks::<Approve>()), &["a"]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let end = runtime.block_on(async { Store::memory().thread(&graph).invoke(start()).await.unwrap() });
    assert_eq!(end.state().notes, ["on"]);
}

async fn slow(_: Arc<Pad>, _: Ctx) -> Ended {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(Pad::update())
}

#[tokio::test]
async fn a_question_of_a_task_that_the_node_awaits_is_the_nodes_own() {
    let node = |_: Arc<Pad>, ctx: Ctx| async move {
        tokio::spawn(ask(ctx)).await??;
        Ok::<_, NodeError>(Pad::update().notes(["on"]))
    };
    let graph = chain(Builder::new().add_node(id("a"), node.asks::<Approve>()), &["a"]);
    let store = Store::memory();
    assert_eq!(store.thread(&graph).invoke(start()).await.unwrap().questions().len(), 1);
    assert_eq!(store.thread(&graph).resume::<Approve>(true).await.unwrap().state().notes, ["on"]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_only_outlives_its_node_is_no_error() {
    let node = |_: Arc<Pad>, ctx: Ctx| async move {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            ctx.emit("late").await;
        });
        Ok::<_, NodeError>(Pad::update().notes(["on"]))
    };
    let graph = chain(Builder::new().add_node(id("a"), node), &["a"]);
    let began = tokio::time::Instant::now();
    assert_eq!(Store::memory().thread(&graph).invoke(start()).await.unwrap().state().notes, ["on"]);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_an_earlier_node_left_delays_no_later_one() {
    let nodes = (0..9).fold(Builder::new().add_node(id("a"), held), |nodes, nth| {
        nodes.add_node(id(&format!("b{nth}")), note("b").asks::<Approve>())
    });
    let names: Vec<String> = ["a".into()].into_iter().chain((0..9).map(|nth| format!("b{nth}"))).collect();
    let graph = chain(nodes, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let began = tokio::time::Instant::now();
    Store::memory().thread(&graph).invoke(start()).await.unwrap();
    assert!(began.elapsed() <= Duration::from_millis(200), "{:?}", began.elapsed()); // the wait at the end of the run
}
