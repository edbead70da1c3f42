//! The node cache: the results it returns, and the tasks that share them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use futures::FutureExt;
use rstest::rstest;
use serde_json::json;
use superstep::graph::node::{Input, IntoCommand, NodeOptions};
use superstep::graph::{
    CompiledGraph, DataState, GraphSpec, Lint, MemoryCache, Name, NodeCache, Registry, Worker, Writes, blocking, worker,
};
use superstep::prelude::*;

use crate::pad::{Builder, Ended, Graph, Pad, Tally, chain, id, note, start, tallied};
use crate::stores::Store;

fn cached(node: impl Node<Pad, Name, ()>) -> impl Node<Pad, Name, ()> {
    node.cache(CachePolicy::default()).reads(["title"])
}

fn lone(node: impl Node<Pad, Name, ()>) -> Graph {
    chain(Builder::new().add_node(id("a"), cached(node)), &["a"])
}

async fn notes(graph: &Graph) -> Vec<String> {
    graph.invoke(start()).await.unwrap().state().notes.clone()
}

#[tokio::test]
async fn a_node_of_a_subgraph_does_not_share_results_with_its_parents_namesake() {
    let outer = Builder::new().add_node(id("a"), cached(note("outer"))).add_subgraph(id("sub"), lone(note("inner")));
    let graph = chain(outer, &["a", "sub"]).with_cache(Arc::new(MemoryCache::default()));

    assert_eq!(notes(&graph).await, ["outer", "inner"]);
    assert_eq!(notes(&graph).await, ["outer", "inner"]);
}

#[tokio::test]
async fn graphs_that_share_a_cache_have_separate_results() {
    let cache: Arc<dyn NodeCache> = Arc::new(MemoryCache::default());
    let wider = Builder::new().add_node(id("a"), cached(note("wider"))).add_node(id("b"), note("b"));
    let named = Builder::new().name("named").add_node(id("a"), cached(note("named")));
    let other = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["other"])) };
    let graphs = [lone(note("first")), chain(wider, &["a"]), chain(named, &["a"]), lone(other)];

    for (graph, word) in graphs.into_iter().zip(["first", "wider", "named", "other"]) {
        assert_eq!(notes(&graph.with_cache(Arc::clone(&cache))).await, [word]);
    }
}

#[rstest]
#[case::with_a_key(CachePolicy::default().key("inner"), 1)]
#[case::without_one(CachePolicy::default(), 4)]
#[tokio::test]
async fn runs_threads_and_calls_of_a_build_share_results_and_builds_with_a_key(
    #[case] policy: CachePolicy,
    #[case] ran: usize,
) {
    let (cache, tally): (Arc<dyn NodeCache>, _) = (Arc::new(MemoryCache::default()), Tally::default());
    let build = || {
        let inner = tallied(&tally, "inner").cache(policy).reads(["title"]);
        let inner = chain(Builder::new().add_node(id("a"), inner), &["a"]);
        let twice = move |_: Arc<Pad>, ctx: Ctx| {
            let inner = inner.clone();
            async move {
                let (one, two) = (ctx.call(&inner, start()).await?, ctx.call(&inner, start()).await?);
                Ok::<_, NodeError>(Pad::update().notes([one.notes.concat(), two.notes.concat()]))
            }
        };
        chain(Builder::new().add_node(id("twice"), twice), &["twice"]).with_cache(Arc::clone(&cache))
    };

    for _ in 0..2 {
        assert_eq!(notes(&build()).await, ["inner", "inner"]);
        let stored = Store::memory().thread(&build()).invoke(start()).await.unwrap();
        assert_eq!(stored.state().notes, ["inner", "inner"]);
    }
    assert_eq!(tally.count(), ran);
}

/// A body that notes what it captured.
fn captured(word: String) -> impl Fn(Arc<Pad>, Ctx) -> std::future::Ready<Ended> + Clone {
    move |_, _| std::future::ready(Ok(Pad::update().notes([word.clone()])))
}

#[rstest]
#[case::without_a_key(|_: &'static str| CachePolicy::default())]
#[case::with_a_key(|word: &'static str| CachePolicy::default().key(word))]
#[tokio::test]
async fn closures_of_one_function_have_separate_results(#[case] policy: fn(&'static str) -> CachePolicy) {
    let cache: Arc<dyn NodeCache> = Arc::new(MemoryCache::default());
    for word in ["east", "west"] {
        let node = captured(word.to_owned()).cache(policy(word));
        let graph = chain(Builder::new().add_node(id("a"), node), &["a"]).with_cache(Arc::clone(&cache));
        for _ in 0..2 {
            assert_eq!(notes(&graph).await, [word]);
            assert_eq!(notes(&graph.clone()).await, [word]);
        }
    }
}

#[tokio::test]
async fn closures_in_one_function_that_capture_nothing_have_separate_results() {
    let cache: Arc<dyn NodeCache> = Arc::new(MemoryCache::default());
    let one = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["one"])) };
    let two = |_: Arc<Pad>, _: Ctx| async { Ok::<_, NodeError>(Pad::update().notes(["two"])) };
    for (graph, word) in [(lone(one), "one"), (lone(two), "two"), (lone(one), "one")] {
        assert_eq!(notes(&graph.with_cache(Arc::clone(&cache))).await, [word]);
    }
}

#[tokio::test]
async fn subgraphs_of_one_shape_have_separate_results() {
    let cache: Arc<dyn NodeCache> = Arc::new(MemoryCache::default());
    for word in ["one", "two"] {
        let inner = chain(Builder::new().add_node(id("inner"), note(word)), &["inner"]);
        let options = NodeOptions::default().cache(CachePolicy::default());
        let graph = Builder::new().add_subgraph_with(id("a"), inner, options).add_edge(START, id("a"));
        assert_eq!(notes(&graph.compile().unwrap().with_cache(Arc::clone(&cache))).await, [word]);
    }
}

/// The forms of a node whose body is a closure without captures.
#[derive(Clone, Copy, Debug)]
enum Form {
    Node,
    Worker,
    Either,
    Blocking,
    Subgraph,
    Mapped,
    InsideOfASubgraph,
}

/// A graph with a cached node `a` of this body.
fn formed<F, Fut>(form: Form, body: F, policy: CachePolicy) -> Graph
where
    F: Fn(Arc<Pad>, Ctx) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = Ended> + Send + 'static,
{
    let options = || NodeOptions::default().cache(policy);
    let inner = |cached: bool| {
        let options = if cached { options() } else { NodeOptions::default() };
        let either = move |input: Input<Pad, Pad>, ctx: Ctx| {
            let (Input::State(pad) | Input::Payload(pad)) = input;
            async move { body(pad, ctx).await.map(IntoCommand::<Pad, Name>::into_command) }
        };
        chain(Builder::new().add_either(id("a"), either, options), &["a"])
    };
    let builder = match form {
        Form::Node => Builder::new().add_node(id("a"), body.cache(policy)),
        Form::Either => return inner(true),
        Form::Blocking => {
            let function = move |pad: Arc<Pad>, ctx: Ctx| body(pad, ctx).now_or_never().unwrap();
            Builder::new().add_node(id("a"), blocking(function).cache(policy))
        }
        Form::Worker => {
            let to = || Worker::<Name, Pad>::new(id("a"));
            let builder = Builder::new().add_worker(to(), worker(body).cache(policy));
            return builder.add_edge(START, to().each([Pad::default()])).compile().unwrap();
        }
        Form::Subgraph => Builder::new().add_subgraph_with(id("a"), inner(false), options()),
        Form::Mapped => {
            let mapped = inner(false).mapped(|_: &Pad| start(), |pad: &Pad| Pad::update().notes(pad.notes.clone()));
            Builder::new().add_subgraph_with(id("a"), mapped, options())
        }
        Form::InsideOfASubgraph => Builder::new().add_subgraph(id("a"), inner(true)),
    };
    chain(builder, &["a"])
}

#[rstest]
#[tokio::test]
async fn bodies_of_one_function_have_separate_results_in_each_form_of_a_node(
    #[values(
        Form::Node,
        Form::Worker,
        Form::Either,
        Form::Blocking,
        Form::Subgraph,
        Form::Mapped,
        Form::InsideOfASubgraph
    )]
    form: Form,
    #[values(None, Some("key"))] key: Option<&'static str>,
) {
    let cache: Arc<dyn NodeCache> = Arc::new(MemoryCache::default());
    let policy = key.map_or_else(CachePolicy::default, |key| CachePolicy::default().key(key));
    let one = |_: Arc<Pad>, _: Ctx| std::future::ready(Ok(Pad::update().notes(["one"])));
    let two = |_: Arc<Pad>, _: Ctx| std::future::ready(Ok(Pad::update().notes(["two"])));
    for (graph, word) in [(formed(form, one, policy), "one"), (formed(form, two, policy), "two")] {
        let graph = graph.with_cache(Arc::clone(&cache));
        for _ in 0..2 {
            assert_eq!(notes(&graph).await, [word]);
        }
    }
}

/// A data-defined graph with the registered body `a`.
fn read_from_data(registry: &Registry) -> CompiledGraph<DataState, Name> {
    let spec = json!({
        "channels": { "notes": "append" },
        "nodes": { "a": "a" },
        "edges": [{ "from": "START", "to": "a" }, { "from": "a", "to": "END" }],
    });
    serde_json::from_value::<GraphSpec>(spec).unwrap().compile(registry).unwrap()
}

#[tokio::test]
async fn registered_bodies_of_one_function_have_separate_results_and_share_them_over_builds() {
    static RAN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    let (cache, policy): (Arc<dyn NodeCache>, _) = (Arc::new(MemoryCache::default()), CachePolicy::default());
    let one = |state: Arc<DataState>, _: Ctx| async move {
        RAN[0].fetch_add(1, Ordering::SeqCst);
        Ok::<_, NodeError>(state.update(&json!({ "notes": ["one"] }))?)
    };
    let two = |state: Arc<DataState>, _: Ctx| async move {
        RAN[1].fetch_add(1, Ordering::SeqCst);
        Ok::<_, NodeError>(state.update(&json!({ "notes": ["two"] }))?)
    };
    let registries =
        [(Registry::new().node("a", one.cache(policy)), "one"), (Registry::new().node("a", two.cache(policy)), "two")];
    for (registry, word) in registries.iter().chain(&registries) {
        let graph = read_from_data(registry).with_cache(Arc::clone(&cache));
        let outcome = graph.invoke(Writes::default()).await.unwrap();
        assert_eq!(outcome.state().value("notes"), Some(&json!([word])));
    }
    assert_eq!([0, 1].map(|at| RAN[at].load(Ordering::SeqCst)), [1, 1]);
}

async fn nothing(_: Arc<Pad>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

#[rstest]
#[case::alone(false)]
#[case::beside_a_sibling(true)]
#[tokio::test]
async fn the_routers_after_a_cached_node_choose_anew(#[case] beside: bool) {
    let cache: Arc<dyn NodeCache> = Arc::new(MemoryCache::default());
    for (router, word) in [((|_| id("b")) as fn(&Pad) -> Name, "b"), (|_| id("c"), "c")] {
        let nodes = Builder::new().add_node(id("a"), nothing.cache(CachePolicy::default()).reads(["title"]));
        let nodes = nodes.add_node(id("b"), note("b")).add_node(id("c"), note("c")).add_node(id("d"), nothing);
        let nodes = nodes.add_edge(START, id("a")).add_conditional_edges_to(id("a"), router, [id("b"), id("c")]);
        let nodes = if beside { nodes.add_edge(START, id("d")) } else { nodes.allow(Lint::Unreachable) };
        let graph = nodes.compile().unwrap().with_cache(Arc::clone(&cache));
        assert_eq!(notes(&graph).await, [word]);
        assert_eq!(notes(&graph).await, [word]);
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Keyed {
    #[channel(untracked)]
    key: u32,
    seen: u32,
}

#[tokio::test]
async fn an_untracked_channel_is_part_of_the_cache_key() {
    let tells = |keyed: Arc<Keyed>, _: Ctx| async move { Ok::<_, NodeError>(Keyed::update().seen(keyed.key)) };
    let graph = StateGraph::<Keyed, Name>::new().add_node(id("a"), tells.cache(CachePolicy::default()));
    let graph = graph.add_sequence([id("a")]).compile().unwrap().with_cache(Arc::new(MemoryCache::default()));

    for key in [1, 2] {
        assert_eq!(graph.invoke(Keyed::update().key(key)).await.unwrap().state().seen, key);
    }
}

#[tokio::test]
async fn a_panic_of_a_router_fails_a_cached_node() {
    let store = Store::memory();
    let builder = Builder::new().add_node(id("a"), cached(note("a"))).add_edge(START, id("a"));
    let builder = builder.add_conditional_edges_to(id("a"), |_: &Pad| -> Name { panic!("no way") }, id("a"));
    let graph = builder.compile().unwrap().with_cache(Arc::new(MemoryCache::default()));

    let error = store.thread(&graph).invoke(start()).await.unwrap_err().to_string();

    assert!(error.contains("no way"), "{error}");
    let status = store.thread(&graph).status().await.unwrap();
    assert!(matches!(&status, Status::Failed { reason } if *reason == error), "{status:?}");
}

/// A cache whose entries name a channel that no longer exists.
#[derive(Debug, Default)]
struct Outdated(Mutex<Option<Vec<u8>>>);

impl NodeCache for Outdated {
    fn get(&self, _: &[u8], _: u64) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }

    fn put(&self, _: Vec<u8>, mut result: Vec<u8>, _: Option<u64>) {
        let at = result.windows(5).position(|bytes| bytes == b"notes").unwrap();
        result[at..at + 5].copy_from_slice(b"goner");
        *self.0.lock().unwrap() = Some(result);
    }

    fn clear(&self, _: Option<&str>) {}
}

#[tokio::test]
async fn an_unreadable_cached_result_is_computed_again() {
    let tally = Tally::default();
    let graph = lone(tallied(&tally, "a")).with_cache(Arc::new(Outdated::default()));

    for ran in 1..=2 {
        assert_eq!(notes(&graph).await, ["a"]);
        assert_eq!(tally.count(), ran);
    }
}

#[tokio::test]
async fn clearing_removes_the_results_of_one_node_or_all() {
    let (cache, tally) = (Arc::new(MemoryCache::default()), Tally::default());
    let nodes = Builder::new().add_node(id("a"), cached(tallied(&tally, "a")));
    let graph = chain(nodes.add_node(id("ab"), cached(tallied(&tally, "ab"))), &["a", "ab"]);
    let graph = graph.with_cache(Arc::clone(&cache) as _);
    let mut ran = vec![];

    for clear in [None, Some(Some("a")), Some(None)] {
        if let Some(node) = clear {
            cache.clear(node);
        }
        let before = tally.count();
        notes(&graph).await;
        ran.push(tally.names()[before..].join(" "));
    }

    assert_eq!(ran, ["a ab", "a", "a ab"]);
}

#[tokio::test]
async fn a_result_expires_by_the_clock_of_the_thread() {
    let (store, tally) = (Store::memory(), Tally::default());
    let node = tallied(&tally, "a").cache(CachePolicy::ttl(Duration::from_secs(60))).reads(["title"]);
    let graph = chain(Builder::new().add_node(id("a"), node), &["a"]).with_cache(Arc::new(MemoryCache::default()));
    let mut ran = vec![];

    for second in [1000, 1059, 1061] {
        let now = UNIX_EPOCH + Duration::from_secs(second);
        store.thread(&graph).clock(move || now).invoke(start()).await.unwrap();
        ran.push(tally.count());
    }

    assert_eq!(ran, [1, 1, 2]);
}
