//! Effects happen once, whatever happens to their task; recorded values stay the same.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rstest::rstest;
use superstep::checkpoint::{Checkpointer, FailingCheckpointer, Key, Order};
use superstep::graph::{Boxed, Name};
use superstep::prelude::*;

use crate::pad::*;
use crate::stores::Store;

/// The outside world: the effects that happened, with their idempotency keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct World(Arc<Mutex<Vec<(String, String)>>>);

impl World {
    pub(crate) fn happens(&self, what: &str, key: &str) -> String {
        let mut seen = self.0.lock().unwrap();
        seen.push((what.to_owned(), key.to_owned()));
        format!("{what} {}", seen.len())
    }

    pub(crate) fn happened(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(what, _)| what.clone()).collect()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(_, key)| key.clone()).collect()
    }

    pub(crate) fn knows(&self, key: &str) -> Option<String> {
        let seen = self.0.lock().unwrap();
        let at = seen.iter().position(|(_, known)| known == key)?;
        Some(format!("{} {}", seen[at].0, at + 1))
    }
}

pub(crate) type Body = Boxed<'static, Ended>;

/// A node that pays, then runs `then`.
pub(crate) fn paying<Then, Fut>(world: &World, then: Then) -> impl Fn(Arc<Pad>, Ctx) -> Body + Clone + use<Then, Fut>
where
    Then: Fn(Ctx) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), NodeError>> + Send + 'static,
{
    let world = world.clone();
    move |_, ctx: Ctx| {
        let (world, then) = (world.clone(), then.clone());
        Box::pin(async move {
            let pay = |key: String| async move { Ok::<_, NodeError>(world.happens("pay", &key)) };
            let receipt: String = ctx.effect("pay", &(7, "EUR"), pay).await?;
            then(ctx.clone()).await?;
            Ok(Pad::update().notes([receipt]))
        })
    }
}

/// Fails this many times.
pub(crate) fn failing(
    times: usize,
) -> impl Fn(Ctx) -> std::future::Ready<Result<(), NodeError>> + Clone + Send + Sync + 'static {
    let tally = Tally::default();
    move |_| std::future::ready(if tally.add("") <= times { Err("no".into()) } else { Ok(()) })
}

fn asking(ctx: Ctx) -> std::future::Ready<Result<(), NodeError>> {
    std::future::ready(ctx.interrupt(Approve).map(drop).map_err(NodeError::from))
}

pub(crate) fn soon() -> RetryPolicy {
    RetryPolicy::attempts(3).pause(Duration::ZERO)
}

#[rstest]
#[tokio::test]
async fn an_effect_is_not_repeated_by_a_retry_policy(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, failing(2)).retry(soon())), &["pay"]);
    let outcome = store.thread(&graph).durability(durability).invoke(start()).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("pay 1".into(), 1));
}

#[rstest]
#[tokio::test]
async fn an_effect_is_not_repeated_in_another_process(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
    #[values(false, true)] afresh: bool,
) {
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, failing(1))), &["pay"]);
    store.thread(&graph).durability(durability).invoke(start()).await.unwrap_err();
    let thread = store.thread(&graph);
    let outcome = if afresh { thread.retry().await } else { thread.proceed().await }.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("pay 1".into(), 1));
}

#[rstest]
#[tokio::test]
async fn an_effect_before_a_question_is_not_repeated(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] on_a_fork: bool,
) {
    let world = World::default();
    let node = paying(&world, asking).asks::<Approve>();
    let graph = chain(Builder::new().add_node(id("pay"), node).add_node(id("end"), note("end")), &["pay", "end"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    let at_question = store.thread(&graph).state().await.unwrap().unwrap().id;
    if on_a_fork {
        store.thread(&graph).update_state(Pad::update().title("moons")).await.unwrap();
    }
    let thread = store.thread(&graph);
    let thread = if on_a_fork { thread.at(at_question) } else { thread };
    let outcome = thread.resume::<Approve>(true).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), &*outcome.state().title), ("pay 1,end".into(), "tides"));
    assert_eq!(world.happened().len(), 1);
}

#[tokio::test]
async fn a_failed_effect_is_repeated_with_the_same_key() {
    let (store, world) = (Store::memory(), World::default());
    let (tally, seen) = (Tally::default(), world.clone());
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let (tally, world) = (tally.clone(), seen.clone());
        Box::pin(async move {
            let body = |key: String| async move {
                world.happens("pay", &key);
                if tally.add("") == 1 { Err("no money") } else { Ok(tally.count()) }
            };
            let times = ctx.effect("pay", &(), body).await?;
            Ok(Pad::update().notes([times.to_string()]))
        })
    };
    let graph = chain(Builder::new().add_node(id("pay"), node.retry(soon())), &["pay"]);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(outcome.state().notes.join(","), "2");
    let keys = world.keys();
    assert!(keys.len() == 2 && keys[0] == keys[1] && keys[0].is_ascii(), "{keys:?}");
}

#[tokio::test]
async fn other_arguments_than_recorded_fail_the_task_and_both_are_shown() {
    let (store, tally) = (Store::memory(), Tally::default());
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let tally = tally.clone();
        Box::pin(async move {
            let times = tally.add("");
            let mail = |_| async { Ok::<_, NodeError>(()) };
            let sent = ctx.effect("mail", &("bob", times), mail).await;
            if times == 1 {
                return Err("no".into());
            }
            sent.ok(); // swallowed, and yet
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("mail"), node.retry(soon())), &["mail"]);
    let error = store.thread(&graph).invoke(start()).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:?}"), @r#"
    `mail` of node `mail` was recorded for ["bob",1], but is used for ["bob",2] now
     help: restore the node's earlier code, take varying values from `ctx.now()`, `ctx.random()` or `ctx.record(..)`, or give the changed effect another key
    "#);
}

#[tokio::test]
async fn a_key_is_used_once_in_an_attempt() {
    let node = |_: Arc<Pad>, ctx: Ctx| -> Body {
        Box::pin(async move {
            ctx.record("seed", 1).await?;
            ctx.record("seed", 2).await.ok();
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("twice"), node), &["twice"]);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert_eq!(error.to_string(), "node `twice` used the key `seed` twice in one attempt");
}

/// A node that pays, with a probe that first checks whether it has paid.
pub(crate) fn probing(world: &World, probed: &Tally) -> impl Fn(Arc<Pad>, Ctx) -> Body + Clone + use<> {
    let (world, probed) = (world.clone(), probed.clone());
    move |_, ctx: Ctx| {
        let (world, probed) = (world.clone(), probed.clone());
        Box::pin(async move {
            let (there, probed) = (world.clone(), probed.clone());
            let receipt: String = ctx
                .effect("pay", &7, |key| async move { Ok::<_, NodeError>(world.happens("pay", &key)) })
                .probe(|key| async move {
                    probed.add(&key);
                    Ok::<_, NodeError>(there.knows(&key))
                })
                .await?;
            Ok(Pad::update().notes([receipt]))
        })
    }
}

#[rstest]
#[tokio::test]
async fn an_effect_killed_before_its_commit_is_probed_with_the_same_key(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] acknowledgement_lost: bool,
) {
    let (world, probed) = (World::default(), Tally::default());
    let graph = chain(Builder::new().add_node(id("pay"), probing(&world, &probed)), &["pay"]);
    let inner = Arc::clone(&store.store);
    let cut = if acknowledgement_lost {
        FailingCheckpointer::losing_ack(inner, 2)
    } else {
        FailingCheckpointer::new(inner, 2)
    };
    let dying = graph.clone().with_checkpointer(cut);
    dying.thread("t").invoke(start()).await.unwrap_err();
    assert_eq!((world.happened().len(), probed.count()), (1, 0), "the commit after the effect is the second");
    let after = chain(Builder::new().add_node(id("after"), note("after")), &["after"]);
    let after = after.with_shared_checkpointer(Arc::clone(&store.store)).thread("another");
    after.invoke(start()).await.unwrap(); // what was on its way is on disk before this is
    let outcome = store.thread(&graph).proceed().await.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("pay 1".into(), 1));
    let probes = usize::from(!acknowledgement_lost);
    assert_eq!(probed.names(), &world.keys()[..probes], "asked only if no record tells");
}

#[rstest]
#[tokio::test]
async fn an_effect_takes_one_commit_which_has_its_values_too(#[values(Store::memory(), Store::disk())] store: Store) {
    let commits = |effects: usize| {
        let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
            Box::pin(async move {
                for nth in 0..effects {
                    ctx.now().await?;
                    ctx.effect(format!("e{nth}"), &(), |_| async { Ok::<_, NodeError>(()) }).await?;
                }
                ctx.record("last", 1).await?;
                Ok(Pad::update())
            })
        };
        let graph = chain(Builder::new().add_node(id("node"), node), &["node"]);
        let counting = Arc::new(FailingCheckpointer::new(Arc::clone(&store.store), u64::MAX));
        async move {
            let shared: Arc<dyn Checkpointer> = Arc::clone(&counting) as _;
            graph.with_shared_checkpointer(shared).thread(format!("t{effects}")).invoke(start()).await.unwrap();
            counting.commits()
        }
    };
    let (none, three) = (commits(0).await, commits(3).await);
    assert_eq!(three, none + 3);
}

#[rstest]
#[tokio::test]
async fn effects_of_parallel_tasks_and_of_sends_have_separate_keys(
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let worker = || Worker::<Name, u32>::new(id("worker"));
    let world = World::default();
    let seen = world.clone();
    let work = move |number: Arc<u32>, ctx: Ctx| -> Body {
        let world = seen.clone();
        Box::pin(async move {
            let (one, two) = (world.clone(), world.clone());
            let both = futures::future::join(
                ctx.effect("a", &*number, |key| async move { Ok::<_, NodeError>(one.happens("a", &key)) })
                    .into_future(),
                ctx.effect("b", &*number, |key| async move { Ok::<_, NodeError>(two.happens("b", &key)) })
                    .into_future(),
            );
            let (a, b) = both.await;
            a?;
            b?;
            if *number == 2 && world.happened().len() < 7 {
                world.happens("failure", "");
                return Err("no".into());
            }
            Ok(Pad::update())
        })
    };
    let builder = Builder::new().add_node(id("begin"), note("begin")).add_worker(worker(), work);
    let fan_out = move |_: &Pad| worker().each([1, 2, 3]);
    let graph = builder
        .add_edge(START, id("begin"))
        .add_conditional_edges_to(id("begin"), fan_out, worker())
        .compile()
        .unwrap();
    store.thread(&graph).invoke(start()).await.unwrap_err();
    store.thread(&graph).proceed().await.unwrap();
    let keys: Vec<String> = world.keys().into_iter().filter(|key| !key.is_empty()).collect();
    let unique: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!((keys.len(), unique.len()), (6, 6), "{keys:?}");
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Node(Persistence),
    Called,
}

/// A graph whose node runs a graph that pays and then fails or interrupts.
fn outer(way: Way, inner: Graph, retry: bool) -> Graph {
    let builder = Builder::new();
    let builder = match way {
        Way::Node(persistence) => {
            let builder = builder.add_subgraph(id("inner"), inner.persistence(persistence));
            if retry { builder.node_defaults(superstep::graph::NodeDefaults::default().retry(soon())) } else { builder }
        }
        Way::Called => {
            let called = inner.clone();
            let node = move |pad: Arc<Pad>, ctx: Ctx| -> Body {
                let inner = called.clone();
                Box::pin(async move {
                    let end = ctx.call(&inner, Pad::update().title(&pad.title)).await?;
                    Ok(Pad::update().notes(end.notes.clone()))
                })
            };
            let node = node.asks::<Approve>();
            let node = if retry { node.retry(soon()) } else { node };
            builder.add_node(id("inner"), node).calls(&id("inner"), &inner)
        }
    };
    chain(builder, &["inner"])
}

const WAYS: [Way; 4] = [
    Way::Node(Persistence::Inherit),
    Way::Node(Persistence::PerThread),
    Way::Node(Persistence::Stateless),
    Way::Called,
];

#[rstest]
#[tokio::test]
async fn an_effect_in_a_subgraph_is_not_repeated(
    #[values(0, 1, 2, 3)] way: usize,
    #[values(false, true)] retry: bool,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let world = World::default();
    let builder = Builder::new().add_node(id("first"), note("first")).add_node(id("pay"), paying(&world, failing(1)));
    let graph = outer(WAYS[way], chain(builder, &["first", "pay"]), retry);
    let outcome = match store.thread(&graph).invoke(start()).await {
        Ok(outcome) => outcome,
        Err(_) => store.thread(&graph).proceed().await.unwrap(),
    };
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("first,pay 1".into(), 1), "{:?}", WAYS[way]);
}

#[rstest]
#[tokio::test]
async fn an_effect_in_an_interrupted_subgraph_is_not_repeated(
    #[values(0, 1, 2, 3)] way: usize,
    #[values(Store::memory(), Store::disk())] store: Store,
) {
    let world = World::default();
    let node = paying(&world, asking).asks::<Approve>();
    let inner = chain(Builder::new().add_node(id("first"), note("first")).add_node(id("pay"), node), &["first", "pay"]);
    let graph = outer(WAYS[way], inner, false);
    store.thread(&graph).invoke(start()).await.unwrap();
    let outcome = store.thread(&graph).resume::<Approve>(true).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("first,pay 1".into(), 1), "{:?}", WAYS[way]);
}

/// In a loop each round is a separate task.
#[tokio::test]
async fn each_round_of_a_loop_has_its_own_effects() {
    let world = World::default();
    let node = paying(&world, failing(0));
    let builder = Builder::new().add_node(id("pay"), node).add_edge(START, id("pay"));
    let again = |pad: &Pad| if pad.notes.len() < 3 { Target::from(id("pay")) } else { END.into() };
    let inner = builder
        .add_conditional_edges_to(
            id("pay"),
            again,
            vec![("again".to_owned(), Target::from(id("pay"))), ("done".to_owned(), END.into())],
        )
        .compile()
        .unwrap();
    let graph_of_rounds = inner.clone();
    for graph in [inner.clone(), outer(WAYS[0], inner.clone(), false), outer(WAYS[2], inner, false)] {
        let (store, before) = (Store::memory(), world.happened().len());
        let outcome = store.thread(&graph).invoke(start()).await.unwrap();
        assert_eq!((outcome.state().notes.len(), world.happened().len() - before), (3, 3));
    }
    graph_of_rounds.invoke(start()).await.unwrap(); // without a store
    let keys = world.keys();
    assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), 12, "{keys:?}");
}

#[tokio::test]
async fn a_live_replay_performs_effects() {
    let (store, world) = (Store::memory(), World::default());
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, failing(0))), &["pay"]);
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let history = thread.history().await.unwrap().all().await.unwrap();
    thread.at(history[1].id).proceed().await.unwrap();
    let keys = world.keys();
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
}

#[rstest]
#[tokio::test]
async fn recorded_values_of_a_task_stay_the_same(#[values(Store::memory(), Store::disk())] store: Store) {
    let learned: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, drawn) = (Arc::clone(&learned), Arc::new(AtomicU64::new(0)));
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let (seen, drawn) = (Arc::clone(&seen), Arc::clone(&drawn));
        Box::pin(async move {
            let value = ctx.record("value", drawn.fetch_add(1, Ordering::SeqCst)).await?;
            let all =
                (ctx.now().await?, ctx.now().await?, ctx.random().await?, ctx.random().await?, ctx.new_id().await?);
            assert_ne!(all.2, all.3);
            seen.lock().unwrap().push(format!("{value} {all:?}"));
            ctx.interrupt(Approve)?;
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("node"), node.asks::<Approve>()), &["node"]);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Approve>(true).await.unwrap();
    let learned = learned.lock().unwrap().clone();
    assert!(learned.len() == 2 && learned[0] == learned[1] && learned[0].starts_with("0 "), "{learned:?}");
    let uuid = learned[0].rsplit('"').nth(1).unwrap();
    assert!(uuid.len() == 36 && uuid.as_bytes()[14] == b'4' && "89ab".contains(&uuid[19..20]), "{uuid}");
}

#[tokio::test]
async fn without_a_store_the_journal_lasts_as_long_as_the_run() {
    let world = World::default();
    let graph = chain(Builder::new().add_node(id("pay"), paying(&world, failing(2)).retry(soon())), &["pay"]);
    let outcome = graph.invoke(start()).await.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("pay 1".into(), 1));
}

#[rstest]
#[tokio::test]
async fn a_result_is_on_disk_before_it_is_used(
    #[values(Durability::Sync, Durability::Async, Durability::Exit)] durability: Durability,
) {
    let store = Store::disk();
    let seen = Arc::clone(&store.store);
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let store = Arc::clone(&seen);
        Box::pin(async move {
            ctx.effect("pay", &(), |_| async { Ok::<_, NodeError>(()) }).await?;
            let (first, last) =
                (Key::Effect { checkpoint: CheckpointId(0), task: 0, key: String::new() }, CheckpointId(u64::MAX));
            let last = Key::Effect { checkpoint: last, task: 0, key: String::new() };
            let stored = store.scan(&"t".into(), first..=last, Order::Ascending, 9).await?;
            Ok(Pad::update().notes([stored.len().to_string()]))
        })
    };
    let graph = chain(Builder::new().add_node(id("pay"), node), &["pay"]);
    let outcome = store.thread(&graph).durability(durability).invoke(start()).await.unwrap();
    assert_eq!(outcome.state().notes.join(","), "1");
}

#[tokio::test]
async fn an_error_handler_does_not_reuse_the_effects_of_the_body() {
    let (store, world) = (Store::memory(), World::default());
    let handler = {
        let world = world.clone();
        move |_: Arc<Pad>, _: superstep::graph::Failure, ctx: Ctx| -> Body {
            let world = world.clone();
            Box::pin(async move {
                let refund = |key: String| async move { Ok::<_, NodeError>(world.happens("refund", &key)) };
                let receipt: String = ctx.effect("pay", &"back", refund).await?;
                Ok(Pad::update().notes([receipt]))
            })
        }
    };
    let node = paying(&world, failing(9)).on_error(handler);
    let graph = chain(Builder::new().add_node(id("pay"), node), &["pay"]);
    let outcome = store.thread(&graph).invoke(start()).await.unwrap();
    assert_eq!(outcome.state().notes.join(","), "refund 2");
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused_before_the_effect_happens() {
    let world = World::default();
    let seen = world.clone();
    let node = move |_: Arc<Pad>, ctx: Ctx| -> Body {
        let world = seen.clone();
        Box::pin(async move {
            let pay = |key: String| async move { Ok::<_, NodeError>(world.happens("pay", &key)) };
            ctx.effect("k".repeat(5000), &(), pay).await?;
            Ok(Pad::update())
        })
    };
    let graph = chain(Builder::new().add_node(id("pay"), node), &["pay"]);
    let error = Store::memory().thread(&graph).invoke(start()).await.unwrap_err();
    assert!(error.to_string().contains("the key `kkkk"), "{error}");
    assert_eq!(world.happened().len(), 0);
}

/// The nodes of the second version have other indexes.
#[rstest]
#[tokio::test]
async fn an_effect_is_not_repeated_by_a_changed_graph(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(false, true)] afresh: bool,
) {
    let world = World::default();
    let node = paying(&world, failing(1));
    let before = chain(Builder::new().add_node(id("a"), note("a")).add_node(id("pay"), node.clone()), &["a", "pay"]);
    store.thread(&before).invoke(start()).await.unwrap_err();
    let builder = Builder::new().add_node(id("a"), note("a")).add_node(id("b"), note("b")).add_node(id("c"), note("c"));
    let now = chain(builder.add_node(id("pay"), node), &["a", "b", "c", "pay"]);
    let thread = store.thread(&now);
    let outcome = if afresh { thread.retry().await } else { thread.proceed().await }.unwrap();
    assert_eq!((outcome.state().notes.join(","), world.happened().len()), ("a,pay 1".into(), 1));
}

#[tokio::test]
async fn an_effect_or_a_question_that_is_awaited_again_ends_with_an_error() {
    let body = |_: Arc<Pad>, ctx: Ctx| async move {
        let mut paid = ctx.effect("pay", &(), |_| async { Ok::<_, NodeError>(7) });
        let first: i64 = (&mut paid).await?;
        let again = (&mut paid).await.unwrap_err().to_string();
        let mut question = ctx.ask(Approve);
        (&mut question).await?;
        assert!(matches!((&mut question).await, Err(AskError::Interrupted(_))));
        Ok::<_, NodeError>(Pad::update().sum(first).notes([again]))
    };
    let graph = chain(Builder::new().add_node(id("a"), body.asks::<Approve>()), &["a"]);
    let store = Store::memory();
    store.thread(&graph).invoke(start()).await.unwrap();
    let end = store.thread(&graph).resume::<Approve>(true).await.unwrap().finished().unwrap();
    assert_eq!((end.sum, end.notes.join("")), (7, "an effect was polled after its end".into()));
}
