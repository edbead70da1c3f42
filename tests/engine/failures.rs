//! Bodies that fail, panic, hang or misreport: the effect on them, on their siblings, and on the thread.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use superstep::graph::node::NodeOptions;
use superstep::graph::{Failure, MemoryCache, NodeDefaults};
use superstep::prelude::*;
use tokio::time::Instant;

use crate::pad::*;
use crate::stores::Store;

/// A node that panics or fails in its first runs.
fn failing(
    tally: &Tally,
    times: usize,
    fail: fn() -> Result<(), NodeError>,
) -> impl Fn(Arc<Pad>, Ctx) -> superstep::graph::Boxed<'static, Ended> + Clone + use<> {
    let tally = tally.clone();
    move |_, _| {
        let tally = tally.clone();
        Box::pin(async move {
            if tally.add("bad") <= times {
                fail()?;
            }
            Ok(Pad::update().notes(["bad"]))
        })
    }
}

#[rstest]
#[case::panics(|| panic!("out of ink"), "node `bad` panicked in superstep 1: out of ink")]
#[case::fails(|| Err("out of ink".into()), "node `bad` failed in superstep 1: out of ink")]
#[tokio::test]
async fn only_the_failed_node_runs_again(
    #[case] fail: fn() -> Result<(), NodeError>,
    #[case] text: &str,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let (bad, good) = (Tally::default(), Tally::default());
    let builder =
        Builder::new().add_node(id("bad"), failing(&bad, 1, fail)).add_node(id("good"), tallied(&good, "good"));
    let graph = fan(builder, &["bad", "good"]);
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), text);
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if reason == text), "{status:?}");
    let now = store.thread(&graph).state().await.unwrap().unwrap();
    assert_eq!((now.values.notes.join(" "), now.next.join(" ")), ("good".into(), "bad".into()));
    assert_eq!(now.tasks[0].error.as_deref(), Some(text));
    let end = store.thread(&graph).proceed().await.unwrap().finished().unwrap();
    assert_eq!((end.notes.join(" "), bad.count(), good.count()), ("bad good".into(), 2, 1));
}

#[tokio::test]
async fn a_panic_of_a_router_is_an_error_of_its_node() {
    let route = |pad: &Pad| -> superstep::graph::Name { panic!("no way from {}", pad.title) };
    let builder = Builder::new().add_node(id("a"), note("a")).add_edge(START, id("a"));
    let graph = builder.add_conditional_edges_to(id("a"), route, END).compile().unwrap();
    let error = graph.invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `a` panicked in superstep 1: its router: no way from tides");
}

#[rstest]
#[case::transient(|| Err(NodeError::transient("no")), 3)]
#[case::unclassified(|| Err("no".into()), 3)]
#[case::permanent(|| Err(NodeError::permanent("no")), 1)]
#[case::panic(|| panic!("no"), 1)]
#[tokio::test(start_paused = true)]
async fn a_retry_policy_applies_to_all_but_permanent_failures(
    #[case] fail: fn() -> Result<(), NodeError>,
    #[case] attempts: usize,
) {
    let tally = Tally::default();
    let node = failing(&tally, usize::MAX, fail).retry(RetryPolicy::attempts(3));
    let graph = chain(Builder::new().add_node(id("bad"), node), &["bad"]);
    assert!(graph.invoke(start()).await.is_err());
    assert_eq!(tally.count(), attempts);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_per_task() {
    let tell = |_: Arc<Pad>, ctx: Ctx| async move { Ok::<_, NodeError>(Pad::update().sum(i64::from(ctx.attempt()))) };
    let flaky = failing(&Tally::default(), 2, || Err("no".into())).retry(RetryPolicy::attempts(3));
    let graph = chain(Builder::new().add_node(id("bad"), flaky).add_node(id("tell"), tell), &["bad", "tell"]);
    assert_eq!(graph.invoke(start()).await.unwrap().state().sum, 1);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_attempts_grow_up_to_the_longest() {
    let tally = Tally::default();
    let policy = RetryPolicy::attempts(5).pause(Duration::from_secs(1)).backoff(2.0, Duration::from_secs(3));
    let node = failing(&tally, 4, || Err("no".into())).retry(policy);
    let graph = chain(Builder::new().add_node(id("bad"), node), &["bad"]);
    let began = Instant::now();
    assert!(graph.invoke(start()).await.unwrap().finished().is_some());
    assert_eq!((began.elapsed().as_secs(), tally.count()), (1 + 2 + 3 + 3, 5));
}

#[tokio::test(start_paused = true)]
async fn the_first_matching_policy_decides() {
    let tally = Tally::default();
    let never = RetryPolicy::attempts(9).when(|error| error.to_string() == "something else");
    let twice = RetryPolicy::attempts(2).when(|error| error.to_string() == "no");
    let node = failing(&tally, usize::MAX, || Err("no".into())).retry(never).retry(twice);
    let graph = chain(Builder::new().add_node(id("bad"), node), &["bad"]);
    assert!(graph.invoke(start()).await.is_err());
    assert_eq!(tally.count(), 2);
}

#[rstest]
#[tokio::test]
async fn a_panic_of_a_retry_policy_is_an_error_of_its_node(#[values(Store::memory(), Store::disk())] store: Store) {
    let policy = RetryPolicy::attempts(2).when(|_| panic!("out of ink"));
    let node = failing(&Tally::default(), usize::MAX, || Err("no".into())).retry(policy);
    let graph = chain(Builder::new().add_node(id("bad"), node), &["bad"]);
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    let text = "node `bad` panicked in superstep 1: its retry policy, asked about `no`: out of ink";
    assert_eq!(error.to_string(), text);
    assert!(matches!(store.thread(&graph).status().await.unwrap(), Status::Failed { reason } if reason == text));
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_attempt_is_a_transient_failure() {
    let hang = |_: Arc<Pad>, ctx: Ctx| async move {
        if ctx.attempt() < 3 {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        Ok::<_, NodeError>(Pad::update().notes([format!("attempt {}", ctx.attempt())]))
    };
    let limit = Duration::from_secs(2);
    let graph = chain(Builder::new().add_node(id("a"), hang.timeout(limit)), &["a"]);
    let error = graph.invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `a` failed in superstep 1: did not end within its `.timeout(..)` of 2000 ms");
    let policy = RetryPolicy::attempts(3).pause(Duration::ZERO);
    let graph = chain(Builder::new().add_node(id("a"), hang.timeout(limit).retry(policy)), &["a"]);
    let began = Instant::now();
    assert_eq!(graph.invoke(start()).await.unwrap().state().notes, ["attempt 3"]);
    assert_eq!(began.elapsed(), 2 * limit);
}

#[tokio::test(start_paused = true)]
async fn heartbeats_prevent_an_idle_timeout() {
    let slow = |beats: u64| {
        move |_: Arc<Pad>, ctx: Ctx| async move {
            for _ in 0..beats {
                tokio::time::sleep(Duration::from_secs(3)).await;
                ctx.heartbeat();
            }
            tokio::time::sleep(Duration::from_secs(if beats == 0 { 60 } else { 3 })).await;
            Ok::<_, NodeError>(())
        }
    };
    let graph =
        |beats| chain(Builder::new().add_node(id("a"), slow(beats).idle_timeout(Duration::from_secs(4))), &["a"]);
    assert!(graph(20).invoke(start()).await.unwrap().finished().is_some());
    let error = graph(0).invoke(start()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `a` failed in superstep 1: was idle for longer than its `.idle_timeout(..)` of 4000 ms"
    );
}

#[rstest]
#[case::signs_of_life(10, 3, true)]
#[case::finished_tasks(0, 3, true)]
#[case::silence(0, 5, false)]
#[tokio::test(start_paused = true)]
async fn a_heartbeat_in_a_subgraph_counts_for_its_node(#[case] beats: u64, #[case] pause: u64, #[case] lives: bool) {
    let slow = move |_: Arc<Pad>, ctx: Ctx| async move {
        for _ in 0..beats {
            tokio::time::sleep(Duration::from_secs(pause)).await;
            ctx.heartbeat();
        }
        tokio::time::sleep(Duration::from_secs(pause)).await;
        Ok::<_, NodeError>(())
    };
    let inner = chain(Builder::new().add_node(id("c"), slow).add_node(id("d"), slow), &["c", "d"]);
    let inside = chain(Builder::new().add_subgraph(id("inner"), inner), &["inner"]);
    let options = NodeOptions::default().idle_timeout(Duration::from_secs(4));
    let graph = chain(Builder::new().add_subgraph_with(id("inside"), inside, options), &["inside"]);
    assert_eq!(graph.invoke(start()).await.is_ok(), lives);
}

#[rstest]
#[case::fails(|| Err("out of ink".into()), "out of ink")]
#[case::panics(|| panic!("out of ink"), "panicked: out of ink")]
#[tokio::test(start_paused = true)]
async fn a_handler_takes_over_once_the_retries_are_used_up(
    #[case] fail: fn() -> Result<(), NodeError>,
    #[case] text: &str,
) {
    let tally = Tally::default();
    let handler = |_: Arc<Pad>, failure: Failure, _: Ctx| async move {
        let note = format!("{}: {}", failure.node, failure.error);
        Ok::<_, NodeError>(Command::update(Pad::update().notes([note])).goto(id("rescue")))
    };
    let node = failing(&tally, usize::MAX, fail).retry(RetryPolicy::attempts(2)).on_error(handler);
    let builder = Builder::new().add_node(id("bad"), node).add_node(id("next"), note("next"));
    let builder = builder.add_node(id("rescue"), note("rescue")).add_edge(START, id("bad"));
    let graph = builder.add_edge(id("bad"), id("next")).compile().unwrap();
    let end = graph.invoke(start()).await.unwrap();
    assert_eq!(end.state().notes, [format!("bad: {text}"), "rescue".into()]);
    assert!(tally.count() <= 2);
}

#[tokio::test]
async fn a_cached_node_runs_once_for_each_input() {
    let tally = Tally::default();
    let node = tallied(&tally, "a").cache(CachePolicy::default());
    let graph = chain(Builder::new().add_node(id("a"), node), &["a"]).with_cache(Arc::new(MemoryCache::default()));
    for title in ["tides", "tides", "moons"] {
        assert_eq!(graph.invoke(Pad::update().title(title)).await.unwrap().state().notes, ["a"]);
    }
    assert_eq!(tally.count(), 2);
}

#[tokio::test]
async fn a_cached_result_keeps_the_target_of_its_command() {
    let tally = Tally::default();
    let runs = tally.clone();
    let node = move |_: Arc<Pad>, _: Ctx| {
        runs.add("a");
        async { Ok::<_, NodeError>(Command::update(Pad::update().notes(["a"])).goto(id("b"))) }
    };
    let builder = Builder::new().add_node(id("a"), node.cache(CachePolicy::default())).add_node(id("b"), note("b"));
    let graph = builder.add_edge(START, id("a")).compile().unwrap().with_cache(Arc::new(MemoryCache::default()));
    for _ in 0..2 {
        assert_eq!(graph.invoke(start()).await.unwrap().state().notes, ["a", "b"]);
    }
    assert_eq!(tally.count(), 1);
}

#[rstest]
#[case::by_default(false, &["good"])]
#[case::fail_fast(true, &[])]
#[tokio::test]
async fn siblings_of_a_failed_task_finish_unless_it_fails_fast(#[case] fast: bool, #[case] notes: &[&str]) {
    let tally = Tally::default();
    let began = tally.clone();
    let slow = move |_: Arc<Pad>, _: Ctx| {
        began.add("good");
        async {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            Ok::<_, NodeError>(Pad::update().notes(["good"]))
        }
    };
    let bad = |_: Arc<Pad>, _: Ctx| async { Err::<(), NodeError>("no".into()) };
    let graph = fan(Builder::new().add_node(id("worse"), bad).add_node(id("good"), slow), &["good", "worse"]);
    let store = Store::memory();
    let thread = store.thread(&graph);
    let thread = if fast { thread.fail_fast() } else { thread };
    assert!(thread.invoke(start()).await.is_err());
    assert_eq!(store.thread(&graph).state().await.unwrap().unwrap().values.notes, notes);
    assert_eq!(tally.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn options_that_a_node_lacks_come_from_the_defaults_of_its_graph() {
    let fail = || Err("flaky".into());
    let (own, default, slow) = (Tally::default(), Tally::default(), Tally::default());
    let patient = NodeDefaults::default().retry(RetryPolicy::attempts(3)).timeout(Duration::from_secs(1));
    let nodes = Builder::new().node_defaults(patient).add_node(id("default"), failing(&default, usize::MAX, fail));
    let once = failing(&own, usize::MAX, fail).retry(RetryPolicy::attempts(1));
    let (_open, gate) = tokio::sync::watch::channel(false);
    let nodes = nodes.add_node(id("own"), once).add_node(id("slow"), gated(&slow, "slow", &gate));

    let error = fan(nodes, &["default", "own", "slow"]).invoke(start()).await.unwrap_err();

    assert!(error.to_string().ends_with("flaky"), "{error}");
    assert_eq!((default.count(), own.count(), slow.count()), (3, 1, 3));
}

#[tokio::test]
async fn default_options_can_cache_the_results_of_all_nodes() {
    let tally = Tally::default();
    let nodes = Builder::new().add_node(id("a"), tallied(&tally, "a")).add_node(id("b"), tallied(&tally, "b"));
    let defaults = NodeDefaults::default().cache(CachePolicy::default());
    let graph = chain(nodes.node_defaults(defaults), &["a", "b"]).with_cache(Arc::new(MemoryCache::default()));
    for _ in 0..2 {
        assert_eq!(graph.invoke(start()).await.unwrap().state().notes, ["a", "b"]);
    }
    assert_eq!(tally.count(), 2);
}

#[rstest]
#[tokio::test]
async fn a_task_keeps_its_unique_name_over_retries_and_resumes(#[values(Store::memory(), Store::disk())] store: Store) {
    let (names, others) = (Tally::default(), Tally::default());
    let (seen, other) = (names.clone(), others.clone());
    let flaky = move |_: Arc<Pad>, ctx: Ctx| {
        let first = seen.add(&ctx.task_id()) == 1;
        async move {
            if first {
                return Err("flaky".into());
            }
            ctx.interrupt(Approve)?;
            Ok::<_, NodeError>(Pad::update().notes(["done"]))
        }
    };
    let flaky = flaky.asks::<Approve>().retry(RetryPolicy::attempts(2).pause(Duration::ZERO));
    let tells = move |_: Arc<Pad>, ctx: Ctx| {
        other.add(&ctx.task_id());
        async { Ok::<_, NodeError>(()) }
    };
    let nodes = Builder::new().add_node(id("flaky"), flaky).add_node(id("other"), tells.clone());
    let graph = nodes.add_node(id("later"), tells).add_edge(id("flaky"), id("later"));
    let graph = fan(graph, &["flaky", "other"]);

    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Approve>(true).await.unwrap();

    let (names, others) = (names.names(), others.names());
    assert_eq!((names.len(), others.len()), (3, 2));
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
    assert!(others[0] != others[1] && !others.contains(&names[0]), "{names:?} {others:?}");
}
