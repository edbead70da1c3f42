//! Limits that end a run before its graph ends: budgets, the recursion limit, cancellation, draining, breakpoints. The
//! thread can always be resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rstest::rstest;
use superstep::graph::{Budget, Persistence};
use superstep::prelude::*;
use tokio::sync::watch;

use crate::pad::*;
use crate::stores::Store;

fn abc() -> Graph {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    chain(builder, &["a", "b", "c"])
}

#[rstest]
#[tokio::test]
async fn a_budget_of_supersteps_ends_the_run_and_a_new_one_continues(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let outcome = store.thread(&abc()).max_supersteps(2).invoke(start()).await.unwrap();
    let Outcome::Budget(Budget::Supersteps(2), rest) = outcome else { panic!("{outcome:?}") };
    assert_eq!((&rest.state().notes[..], rest.next()), (&["a", "b"].map(String::from)[..], &["c".to_owned()][..]));
    let end = store.thread(&abc()).max_supersteps(2).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes, ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_time_ends_the_run_between_supersteps() {
    let slow = |_: Arc<Pad>, _: Ctx| async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok::<_, NodeError>(Pad::update().notes(["slow"]))
    };
    let builder = Builder::new().add_node(id("a"), slow).add_node(id("b"), slow).add_node(id("c"), slow);
    let (store, graph) = (Store::memory(), chain(builder, &["a", "b", "c"]));
    let limit = Duration::from_secs(15);
    let outcome = store.thread(&graph).max_wall_time(limit).invoke(start()).await.unwrap();
    assert!(matches!(&outcome, Outcome::Budget(Budget::WallTime(spent), _) if *spent == limit), "{outcome:?}");
    assert_eq!(outcome.state().notes.len(), 2);
    assert_eq!(store.thread(&graph).proceed().await.unwrap().finished().unwrap().notes.len(), 3);
}

#[tokio::test]
async fn a_run_over_the_recursion_limit_keeps_its_state_and_can_resume() {
    let store = Store::memory();
    let error = store.thread(&abc()).recursion_limit(2).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::RecursionLimit { limit: 2 }), "{error:?}");
    assert_eq!(store.thread(&abc()).state().await.unwrap().unwrap().values.notes, ["a", "b"]);
    assert!(store.thread(&abc()).proceed().await.unwrap().finished().is_some());
}

#[tokio::test]
async fn a_recursion_limit_of_a_thread_overrides_that_of_its_graph() {
    let store = Store::memory();
    let error = store.thread(&abc().recursion_limit(2)).invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::RecursionLimit { limit: 2 }), "{error:?}");
    let thread = abc().recursion_limit(2).thread("own").recursion_limit(u64::MAX);
    assert!(thread.invoke(start()).await.unwrap().finished().is_some());
}

#[tokio::test]
async fn no_more_tasks_run_concurrently_than_the_limit_allows() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, top) = (Arc::clone(&running), Arc::clone(&most));
    let node = move |_: Arc<Pad>, _: Ctx| {
        let (now, top) = (Arc::clone(&now), Arc::clone(&top));
        async move {
            top.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, NodeError>(Pad::update().sum(1))
        }
    };
    let names = ["a", "b", "c", "d", "e"];
    let graph = fan(names.iter().fold(Builder::new(), |graph, name| graph.add_node(id(name), node.clone())), &names);
    for limit in [1, 3, usize::MAX] {
        most.store(0, Ordering::SeqCst);
        let end = graph.detached_thread(()).max_concurrency(limit).invoke(start()).await.unwrap();
        assert_eq!(end.state().sum, 5);
        assert!(most.load(Ordering::SeqCst) <= limit, "limit {limit}: {most:?} ran at once");
    }
}

#[rstest]
#[tokio::test]
async fn finished_results_are_stored_while_a_sibling_is_queued(#[values(Store::memory(), Store::disk())] store: Store) {
    let (_open, gate) = watch::channel(false);
    let tally = Tally::default();
    let soon = |_: Arc<Pad>, _: Ctx| async {
        tokio::task::yield_now().await;
        Ok::<_, NodeError>(Pad::update().notes(["a"]))
    };
    let builder = Builder::new().add_node(id("a"), soon).add_node(id("b"), gated(&tally, "b", &gate));
    let graph = fan(builder.add_node(id("c"), note("c")), &["a", "b", "c"]);
    let thread = store.thread(&graph).max_concurrency(1);
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() == 0 {
        tokio::task::yield_now().await;
    }
    let reader = store.thread(&graph);
    let stored = || async { reader.state().await.unwrap().unwrap().values.notes.clone() };
    for _ in 0..10_000 {
        if stored().await == ["a"] {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(stored().await, ["a"]);
    run.abort();
}

#[rstest]
#[case::all_at_once(usize::MAX)]
#[case::one_at_a_time(1)]
#[tokio::test]
async fn a_cancelled_run_keeps_finished_results_and_resumes_the_rest(
    #[case] at_once: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (open, gate) = watch::channel(false);
    let (tally, token) = (Tally::default(), CancellationToken::new());
    let builder = Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), gated(&tally, "b", &gate));
    let builder = builder.add_node(id("c"), note("c"));
    let graph = fan(builder, &["a", "b", "c"]);
    let thread = store.thread(&graph).max_concurrency(at_once).cancel_with(token.clone());
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() < 2 {
        tokio::task::yield_now().await;
    }
    token.cancel();
    let outcome = run.await.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Cancelled(_)), "{outcome:?}");
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Pending { next } if next.contains(&"b".to_owned())), "{status:?}");
    open.send(true).unwrap();
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(
        (&end.notes[..], tally.names()),
        (&["a", "b", "c"].map(String::from)[..], ["a", "b", "b"].map(String::from).to_vec())
    );
}

#[tokio::test]
async fn cancelling_drops_the_body_of_a_lone_task() {
    struct DropProbe(Tally);
    impl Drop for DropProbe {
        fn drop(&mut self) {
            self.0.add("dropped");
        }
    }
    let (tally, token) = (Tally::default(), CancellationToken::new());
    let (drops, cancel) = (tally.clone(), token.clone());
    let node = move |_: Arc<Pad>, _: Ctx| {
        let (guard, cancel) = (DropProbe(drops.clone()), cancel.clone());
        async move {
            let _guard = guard;
            cancel.cancel();
            std::future::pending::<Ended>().await
        }
    };
    let graph = chain(Builder::new().add_node(id("a"), node), &["a"]);
    let outcome = Store::memory().thread(&graph).cancel_with(token).invoke(start()).await.unwrap();
    assert!(matches!(&outcome, Outcome::Cancelled(rest) if rest.next() == ["a"]), "{outcome:?}");
    assert_eq!(tally.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_pause_before_a_retry() {
    let (tally, token) = (Tally::default(), CancellationToken::new());
    let (tried, cancel) = (tally.clone(), token.clone());
    let node = move |_: Arc<Pad>, _: Ctx| {
        tried.add("try");
        cancel.cancel();
        async { Err::<(), _>(NodeError::transient("again")) }
    };
    let graph = chain(
        Builder::new().add_node(id("a"), node.retry(RetryPolicy::attempts(9).pause(Duration::from_secs(60)))),
        &["a"],
    );
    let outcome = Store::memory().thread(&graph).cancel_with(token).invoke(start()).await.unwrap();
    assert!(matches!(outcome, Outcome::Cancelled(_)), "{outcome:?}");
    assert_eq!(tally.count(), 1);
}

fn around(inside: Graph) -> Graph {
    let builder = Builder::new().add_subgraph(id("inside"), inside).add_node(id("after"), note("after"));
    chain(builder, &["inside", "after"])
}

#[rstest]
#[tokio::test]
async fn a_run_cancelled_in_a_subgraph_resumes_there(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Persistence::Inherit, Persistence::PerThread)] persistence: Persistence,
) {
    let (open, gate) = watch::channel(false);
    let (tally, token) = (Tally::default(), CancellationToken::new());
    let builder = Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), gated(&tally, "b", &gate));
    let graph = around(chain(builder, &["a", "b"]).persistence(persistence));
    let thread = store.thread(&graph).cancel_with(token.clone());
    let run = tokio::spawn(async move { thread.invoke(start()).await });
    while tally.count() < 2 {
        tokio::task::yield_now().await;
    }
    token.cancel();
    let outcome = run.await.unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Cancelled(rest) if rest.next() == ["inside"]), "{outcome:?}");
    open.send(true).unwrap();
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), tally.names().join(" ")), ("a b after".into(), "a b b".into()));
}

#[rstest]
#[tokio::test]
async fn a_drained_run_ends_after_its_superstep(#[values(Store::memory(), Store::disk())] store: Store) {
    let token = CancellationToken::new();
    let drain = token.clone();
    let stop = move |_: Arc<Pad>, _: Ctx| {
        drain.cancel();
        async { Ok::<_, NodeError>(Pad::update().notes(["a"])) }
    };
    let builder = Builder::new().add_node(id("a"), stop).add_node(id("b"), note("b"));
    let graph = chain(builder, &["a", "b"]);
    let outcome = store.thread(&graph).drain_with(token).invoke(start()).await.unwrap();
    assert!(matches!(&outcome, Outcome::Drained(rest) if rest.next() == ["b"]), "{outcome:?}");
    assert_eq!(outcome.state().notes, ["a"]);
    assert_eq!(store.thread(&graph).proceed().await.unwrap().finished().unwrap().notes, ["a", "b"]);
}

#[tokio::test]
async fn a_run_drained_in_a_subgraph_reports_it_and_resumes_there() {
    let (token, tally) = (CancellationToken::new(), Tally::default());
    let (drain, runs) = (token.clone(), tally.clone());
    let stop = move |_: Arc<Pad>, _: Ctx| {
        runs.add("a");
        drain.cancel();
        async { Ok::<_, NodeError>(Pad::update().notes(["a"])) }
    };
    let graph = around(chain(Builder::new().add_node(id("a"), stop).add_node(id("b"), note("b")), &["a", "b"]));
    let store = Store::memory();
    let outcome = store.thread(&graph).drain_with(token).invoke(start()).await.unwrap();
    assert!(matches!(outcome, Outcome::Drained(_)), "{outcome:?}");
    assert_eq!(store.thread(&graph).proceed().await.unwrap().finished().unwrap().notes, ["a", "b", "after"]);
    assert_eq!(tally.count(), 1);
}

#[tokio::test]
async fn breakpoints_stop_before_and_after_nodes_and_threads_may_set_them() {
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    let graph = chain(builder.interrupt_before([id("b")]).interrupt_after([id("b")]), &["a", "b", "c"]);
    let store = Store::memory();
    let mut next = vec![];
    let mut outcome = store.thread(&graph).invoke(start()).await.unwrap();
    while let Outcome::Stopped(rest) = &outcome {
        next.push(rest.next().join(" "));
        let status = store.thread(&graph).status().await.unwrap();
        assert!(matches!(&status, Status::Stopped { next } if next == rest.next()), "{status:?}");
        outcome = store.thread(&graph).proceed().await.unwrap();
    }
    assert_eq!((next.join(", "), outcome.state().notes.join(" ")), ("b, c".into(), "a b c".into()));

    let other = store.store.clone();
    let thread = graph.with_shared_checkpointer(other).thread("u").interrupt_before_all().interrupt_after([]);
    let mut stops = 0;
    let mut outcome = thread.invoke(start()).await.unwrap();
    while let Outcome::Stopped(_) = &outcome {
        stops += 1;
        outcome = thread.proceed().await.unwrap();
    }
    assert_eq!(stops, 3);
}

#[derive(NodeId)]
enum Survey {
    Fan,
    Ask,
}

const ASK: Worker<Survey, u32> = Worker::new(Survey::Ask);

#[rstest]
#[tokio::test]
async fn a_superstep_has_at_most_ten_thousand_open_questions(#[values(false, true)] inside: bool) {
    let ask = |nth: Arc<u32>, ctx: Ctx| async move {
        ctx.interrupt(Approve)?;
        Ok::<_, NodeError>(Pad::update().sum(i64::from(*nth)))
    };
    let graph = |count: u32| {
        let graph = StateGraph::<Pad, Survey>::new()
            .add_node(Survey::Fan, |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) });
        let graph = graph.add_worker(ASK, worker(ask).asks::<Approve>()).add_edge(START, Survey::Fan);
        graph.add_conditional_edges_to(Survey::Fan, move |_: &Pad| ASK.each(0..count), ASK).compile().unwrap()
    };
    let run = async |count: u32| {
        let store = Store::memory();
        if inside {
            let graph = Builder::new().add_subgraph(id("inside"), graph(count)).add_edge(START, id("inside"));
            return store.thread(&graph.compile().unwrap()).invoke(start()).await;
        }
        graph(count).with_shared_checkpointer(store.store).thread("t").invoke(start()).await
    };
    assert_eq!(run(10_000).await.unwrap().questions().len(), 10_000);
    let error = run(10_001).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Ask` brings the open questions of its superstep to 10001, more than the limit of 10000"
    );
    assert!(matches!(error, RunError::TooMany { count: 10_001, limit: 10_000, .. }), "{error:?}");
}

#[tokio::test]
async fn a_task_makes_at_most_a_hundred_thousand_sends() {
    let graph = StateGraph::<Pad, Survey>::new()
        .add_node(Survey::Fan, |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_worker(ASK, |_: Arc<u32>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_edge(START, Survey::Fan)
        .add_conditional_edges_to(Survey::Fan, |_: &Pad| ASK.each(0..100_001), ASK);
    let error = graph.compile().unwrap().invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "`Fan` brings the sends of its task to 100001, more than the limit of 100000");
}

#[rstest]
#[case::within(50_000, None)]
#[case::beyond(50_001, Some("`Two` brings the sends of its superstep to 100001, more than the limit of 100000"))]
#[tokio::test]
async fn a_superstep_makes_at_most_a_hundred_thousand_sends(#[case] count: u32, #[case] error: Option<&str>) {
    let graph = StateGraph::<Pad, Fans>::new()
        .add_node(Fans::One, |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_node(Fans::Two, |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_worker(TAKE, |_: Arc<u32>, _: Ctx| async { Ok::<_, NodeError>(()) })
        .add_edge(START, [Fans::One, Fans::Two])
        .add_conditional_edges_to(Fans::One, |_: &Pad| TAKE.each(0..50_000), TAKE)
        .add_conditional_edges_to(Fans::Two, move |_: &Pad| TAKE.each(0..count), TAKE);
    let ended = graph.compile().unwrap().invoke(start()).await;
    assert_eq!(ended.err().map(|error| error.to_string()).as_deref(), error);
}

#[derive(NodeId)]
enum Fans {
    One,
    Take,
    Two,
}

const TAKE: Worker<Fans, u32> = Worker::new(Fans::Take);

#[rstest]
#[tokio::test]
async fn a_state_over_its_limit_is_refused_and_the_old_one_kept(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let long = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["x".repeat(600)])) };
    let graph = chain(Builder::new().add_node(id("a"), long).add_node(id("b"), long), &["a", "b"]);
    let thread = || store.thread(&graph).durability(durability);
    let error = thread().max_state_bytes(1000).invoke(start()).await.unwrap_err();
    let RunError::StateTooLarge { bytes, limit: 1000, channel, most } = &error else { panic!("{error:?}") };
    assert_eq!((channel.as_str(), *bytes > *most, *most > 1200), ("notes", true, true));
    assert_eq!(thread().state().await.unwrap().unwrap().values.notes.len(), 1);
    let again = thread().max_state_bytes(*bytes - 1).proceed().await.unwrap_err();
    assert_eq!(again.to_string(), error.to_string().replace("1000", &(*bytes - 1).to_string()), "sizes are read back");
    let end = thread().max_state_bytes(*bytes).proceed().await.unwrap();
    assert_eq!(end.finished().unwrap().notes.len(), 2);
}

#[rstest]
#[case::breakpoint_last(&["pulls", "waits"])]
#[case::breakpoint_first(&["waits", "xpulls"])]
#[tokio::test]
async fn a_run_drained_while_a_subgraph_is_at_a_breakpoint_reports_it(#[case] nodes: &[&str]) {
    let token = CancellationToken::new();
    let drain = token.clone();
    let pull = move |_: Arc<Pad>, _: Ctx| {
        drain.cancel();
        async { Ok::<_, NodeError>(Pad::update().notes(["a"])) }
    };
    let pulls = chain(Builder::new().add_node(id("a"), pull).add_node(id("b"), note("b")), &["a", "b"]);
    let waits = chain(Builder::new().add_node(id("c"), note("c")).interrupt_before([id("c")]), &["c"]);
    let add = |builder: Builder, node: &&str| match *node {
        "waits" => builder.add_subgraph(id(node), waits.clone()),
        _ => builder.add_subgraph(id(node), pulls.clone()),
    };
    let graph = fan(nodes.iter().fold(Builder::new(), add), nodes);
    let store = Store::memory();
    let outcome = store.thread(&graph).drain_with(token).invoke(start()).await.unwrap();
    assert!(matches!(outcome, Outcome::Drained(_)), "{outcome:?}");
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!(end.notes.len(), 3);
}

/// The checkpoint of a command's update exists only here: LangGraph has none, and does not count it.
#[rstest]
#[case::an_answer(false)]
#[case::an_answer_with_an_update(true)]
#[tokio::test]
async fn an_update_with_an_answer_costs_no_superstep(#[case] updates: bool) {
    let store = Store::memory();
    let left = |_: Arc<Pad>, ctx: Ctx| async move { Ok::<_, NodeError>(Pad::update().sum(ctx.remaining_steps())) };
    let builder = Builder::new().add_node(id("ask"), approval.asks::<Approve>()).add_node(id("left"), left);
    let graph = chain(builder, &["ask", "left"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let answer = Request::answers([Answer::new::<Approve>(&true)]);
    let request = if updates { answer.and(Command::update(Pad::update().title("moons"))) } else { answer };
    let end = store.thread(&graph).recursion_limit(3).run(request).await.unwrap().finished().unwrap();
    assert_eq!(end.sum, 3);
}
