//! Long-term memory in nodes: writes happen once, reads return what was recorded, and what compares a run touches nothing.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::BoxFuture;
use superstep::graph::{AnyGraph, Graphs, Request, VerifyVerdict};
use superstep::memory::{
    CheckpointerStore, ItemName, Namespace, NamespaceQuery, Store as Memory, StoreError, StoreItem, StoreRead,
    StoreSearch, StoreWrite,
};
use superstep::prelude::*;

use crate::effects::soon;
use crate::pad::*;
use crate::stores::Store;

/// A store that notes what is asked of it.
#[derive(Debug)]
struct Noting {
    inner: CheckpointerStore,
    calls: Tally,
}

impl Noting {
    fn over(store: &Store) -> Arc<Self> {
        Arc::new(Self { inner: CheckpointerStore::new(Arc::clone(&store.store)), calls: Tally::default() })
    }

    async fn value(&self, key: &str) -> Option<Value> {
        let found = self.inner.get(StoreRead::new(["notes"], key)).await.unwrap();
        found.map(|item| item.value["n"].clone())
    }

    async fn set(&self, key: &str, n: i64) {
        self.inner.put(StoreWrite::new(["notes"], key, json!({"n": n}))).await.unwrap();
    }
}

impl Memory for Noting {
    fn put(&self, write: StoreWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        self.calls.add("put");
        self.inner.put(write)
    }

    fn get(&self, read: StoreRead) -> BoxFuture<'_, Result<Option<StoreItem>, StoreError>> {
        self.calls.add("get");
        self.inner.get(read)
    }

    fn delete(&self, name: ItemName) -> BoxFuture<'_, Result<(), StoreError>> {
        self.calls.add("delete");
        self.inner.delete(name)
    }

    fn search(&self, search: StoreSearch) -> BoxFuture<'_, Result<Vec<StoreItem>, StoreError>> {
        self.calls.add("search");
        self.inner.search(search)
    }

    fn list_namespaces(&self, query: NamespaceQuery) -> BoxFuture<'_, Result<Vec<Namespace>, StoreError>> {
        self.calls.add("list");
        self.inner.list_namespaces(query)
    }

    fn remove_expired(&self) -> BoxFuture<'_, Result<usize, StoreError>> {
        self.inner.remove_expired()
    }
}

/// What the node does after it has used the store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Ends,
    Asks,
    FailsOnce,
}

/// A node that counts in the store, finds and lists items, deletes one, and notes what it was returned.
async fn remember(ctx: &Ctx, tally: &Tally, then: Then) -> Ended {
    let store = ctx.store();
    let before = store.get(["notes"], "counter").await?.and_then(|item| item.value["n"].as_i64()).unwrap_or_default();
    store.put(StoreWrite::new(["notes"], "counter", json!({"n": before + 1}))).await?;
    let after = store.get(["notes"], "counter").await?.map(|item| item.value["n"].clone());
    store.delete(["notes"], "old").await?;
    let found = store.search(StoreSearch::new(["notes"])).await?.len();
    let listed = store.list_namespaces(NamespaceQuery::default()).await?.len();
    if then == Then::Asks {
        ctx.interrupt(Approve)?;
    }
    if then == Then::FailsOnce && tally.add("body") == 1 {
        return Err("no".into());
    }
    Ok(Pad::update().notes([format!("{before} {} {found} {listed}", after.unwrap_or_default())]))
}

fn graph(then: Then, memory: &Arc<Noting>) -> Graph {
    let tally = Tally::default();
    let body = move |_: Arc<Pad>, ctx: Ctx| {
        let tally = tally.clone();
        async move { remember(&ctx, &tally, then).await }
    };
    let builder = Builder::new().add_node(id("remember"), body.asks::<Approve>().retry(soon()).replayable());
    let graph = chain(builder.add_node(id("end"), note("end")), &["remember", "end"]);
    graph.with_store(Arc::clone(memory) as _)
}

const CALLS: [&str; 6] = ["get", "put", "get", "delete", "search", "list"];

#[rstest]
#[tokio::test]
async fn a_node_uses_the_store_once_over_questions_retries_and_processes(
    #[values(Store::memory(), Store::disk())] store: Store,
    #[values(Then::Ends, Then::Asks, Then::FailsOnce)] then: Then,
    #[values(Durability::Sync, Durability::Async)] durability: Durability,
) {
    let memory = Noting::over(&store);
    memory.set("old", 1).await;
    memory.set("counter", 4).await;
    let graph = graph(then, &memory);
    let thread = || store.thread(&graph).durability(durability);
    let mut outcome = thread().invoke(start()).await.unwrap();
    if then == Then::Asks {
        memory.set("counter", 40).await; // somebody else, in between
        outcome = thread().resume::<Approve>(true).await.unwrap();
    }
    assert_eq!(outcome.state().notes, ["4 5 1 1", "end"]);
    assert_eq!(memory.calls.names(), CALLS);
    assert_eq!(memory.value("counter").await, Some(json!(if then == Then::Asks { 40 } else { 5 })));
}

#[rstest]
#[tokio::test]
async fn verify_and_what_if_touch_nothing_in_the_store(#[values(Store::memory(), Store::disk())] store: Store) {
    let memory = Noting::over(&store);
    memory.set("counter", 4).await;
    let graph = graph(Then::Asks, &memory);
    store.thread(&graph).invoke(start()).await.unwrap();
    store.thread(&graph).resume::<Approve>(true).await.unwrap();
    memory.set("counter", 40).await;
    memory.set("other", 1).await;
    let report = store.thread(&graph).verify().await.unwrap();
    assert_eq!((report.verdict(), report.bodies), (VerifyVerdict::SameInPart, 1), "{report}");
    assert!(report.agrees(), "{report}");
    let what_if = store.thread(&graph).what_if().await.unwrap();
    assert!(what_if.differences.is_empty() && what_if.stopped.is_none(), "{what_if}");
    assert_eq!(memory.calls.names(), CALLS);
    assert_eq!((memory.value("counter").await, memory.value("other").await), (Some(json!(40)), Some(json!(1))));
}

#[tokio::test]
async fn a_body_that_asks_the_store_for_something_else_differs() {
    let store = Store::memory();
    let memory = Noting::over(&store);
    let putting = |n: i64| {
        let body = move |_: Arc<Pad>, ctx: Ctx| async move {
            ctx.store().put(StoreWrite::new(["notes"], "a", json!({"n": n}))).await?;
            Ok::<_, NodeError>(Pad::update().notes(["put"]))
        };
        chain(Builder::new().add_node(id("a"), body.replayable()), &["a"]).with_store(Arc::clone(&memory) as _)
    };
    store.thread(&putting(1)).invoke(start()).await.unwrap();
    assert!(store.thread(&putting(1)).verify().await.unwrap().agrees());
    let report = store.thread(&putting(2)).verify().await.unwrap();
    let found = report.divergence.unwrap();
    assert_eq!(found.what, "effect `store put notes/a`", "{found}");
    assert_eq!(memory.calls.names(), ["put"]);
}

#[rstest]
#[tokio::test]
async fn a_fork_from_before_a_node_uses_the_store_again(#[values(Store::memory(), Store::disk())] store: Store) {
    let memory = Noting::over(&store);
    let graph = graph(Then::Ends, &memory);
    store.thread(&graph).invoke(start()).await.unwrap();
    let history = store.thread(&graph).history().await.unwrap().all().await.unwrap();
    let before = history.iter().find(|snapshot| snapshot.next == ["remember"]).unwrap().id;
    let outcome = store.thread(&graph).at(before).proceed().await.unwrap();
    assert_eq!(outcome.state().notes, ["1 2 1 1", "end"]);
    assert_eq!(memory.calls.names(), [CALLS, CALLS].concat());
    assert_eq!(memory.value("counter").await, Some(json!(2)));
}

#[tokio::test]
async fn the_journal_shows_what_was_asked_of_the_store() {
    let store = Store::memory();
    let graph = graph(Then::Asks, &Noting::over(&store));
    let thread = store.thread(&graph);
    thread.invoke(start()).await.unwrap();
    let snapshot = thread.state().await.unwrap().unwrap();
    let journal = snapshot.tasks[0].journal().await.unwrap();
    let keys: Vec<&str> = journal.entries.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "store get notes/counter",
            "store put notes/counter",
            "store get notes/counter (2)",
            "store delete notes/old",
            "store search notes",
            "store namespaces "
        ]
    );
}

fn keeping() -> Graph {
    let body = async |_: Arc<Pad>, ctx: Ctx| {
        let before = ctx.store().get(["notes"], "mark").await?;
        ctx.store().put(StoreWrite::new(["notes"], "mark", json!({"n": 1})).ttl_minutes(5.0)).await?;
        Ok::<_, NodeError>(Pad::update().notes([if before.is_some() { "known" } else { "new" }]))
    };
    chain(Builder::new().add_node(id("keep"), body), &["keep"])
}

#[rstest]
#[tokio::test]
async fn threads_share_the_store_of_their_checkpointer(#[values(Store::memory(), Store::disk())] store: Store) {
    let graph = keeping().with_shared_checkpointer(Arc::clone(&store.store));
    let first = graph.thread("a").invoke(start()).await.unwrap();
    let second = graph.thread("b").invoke(start()).await.unwrap();
    assert_eq!((&first.state().notes[0], &second.state().notes[0]), (&"new".into(), &"known".into()));
    let memory = CheckpointerStore::new(Arc::clone(&store.store));
    assert!(memory.get(StoreRead::new(["notes"], "mark")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_subgraph_and_a_registered_graph_use_the_store_that_was_set() {
    let memory = Noting::over(&Store::memory());
    let inner = keeping();
    let outer = chain(Builder::new().add_subgraph(id("inner"), inner), &["inner"]).named("outer");
    let graphs = Graphs::new().with(AnyGraph::from(outer)).with_checkpointer(MemoryCheckpointer::new());
    let graphs = graphs.with_store(Arc::clone(&memory) as _);
    let graph = graphs.get("outer").unwrap();
    let input = graph.input(&json!({"title": "tides"})).unwrap();
    graph.thread("t").run(Request::input(input)).await.unwrap();
    assert_eq!((memory.calls.names().join(" "), graph.store().is_some()), ("get put".into(), true));
    assert_eq!(memory.value("mark").await, Some(json!(1)));
}

#[tokio::test]
async fn a_graph_without_a_checkpointer_has_the_store_that_was_set_or_an_error() {
    let error = keeping().invoke(start()).await.unwrap_err();
    assert!(matches!(error, RunError::NoCheckpointer { .. }), "{error:?}");
    assert_eq!(error.to_string(), "`ctx.store()` needs a checkpointer");
    let memory = Noting::over(&Store::memory());
    keeping().with_store(Arc::clone(&memory) as _).invoke(start()).await.unwrap();
    assert_eq!(memory.value("mark").await, Some(json!(1)));
}

/// A store whose first so many writes fail, after one read.
#[derive(Debug)]
struct Flaky(Tally, usize);

impl Memory for Flaky {
    fn put(&self, _: StoreWrite) -> BoxFuture<'_, Result<(), StoreError>> {
        let fails = self.0.add("put") - 1 <= self.1;
        Box::pin(async move {
            match fails {
                true => Err(StoreError::Backend { source: "no connection".into() }),
                false => Ok(()),
            }
        })
    }

    fn get(&self, _: StoreRead) -> BoxFuture<'_, Result<Option<StoreItem>, StoreError>> {
        self.0.add("get");
        Box::pin(async { Ok(None) })
    }

    fn delete(&self, _: ItemName) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn search(&self, _: StoreSearch) -> BoxFuture<'_, Result<Vec<StoreItem>, StoreError>> {
        Box::pin(async { Ok(vec![]) })
    }

    fn list_namespaces(&self, _: NamespaceQuery) -> BoxFuture<'_, Result<Vec<Namespace>, StoreError>> {
        Box::pin(async { Ok(vec![]) })
    }

    fn remove_expired(&self) -> BoxFuture<'_, Result<usize, StoreError>> {
        Box::pin(async { Ok(0) })
    }
}

#[rstest]
#[case::twice(2, true)]
#[case::too_often(3, false)]
#[tokio::test]
async fn a_write_that_failed_is_tried_again_by_the_next_attempt(#[case] failures: usize, #[case] ends: bool) {
    let memory = Arc::new(Flaky(Tally::default(), failures));
    let body = async |_: Arc<Pad>, ctx: Ctx| {
        ctx.store().get(["notes"], "mark").await?;
        ctx.store().put(StoreWrite::new(["notes"], "mark", json!({}))).await?;
        Ok::<_, NodeError>(Pad::update())
    };
    let retry = RetryPolicy::attempts(3).pause(Duration::ZERO);
    let graph = chain(Builder::new().add_node(id("keep"), body.retry(retry)), &["keep"]);
    let graph = graph.with_store(Arc::clone(&memory) as _).with_checkpointer(MemoryCheckpointer::new());
    assert_eq!(graph.thread("t").invoke(start()).await.is_ok(), ends);
    assert_eq!(memory.0.names(), ["get", "put", "put", "put"]);
}

#[tokio::test]
async fn a_long_name_is_no_long_key_of_the_journal() {
    let store = Store::memory();
    let body = async |_: Arc<Pad>, ctx: Ctx| {
        let keys = ["a", "b"].map(|end| format!("{}{end}", "k".repeat(1500)));
        for (n, key) in keys.iter().enumerate() {
            ctx.store().put(StoreWrite::new(["notes"], key, json!({"n": n}))).await?;
        }
        let last = ctx.store().get(["notes"], &keys[1]).await?.map(|item| item.value["n"].to_string());
        Ok::<_, NodeError>(Pad::update().notes(last))
    };
    let outcome = store.thread(&chain(Builder::new().add_node(id("keep"), body), &["keep"])).invoke(start()).await;
    assert_eq!(outcome.unwrap().state().notes, ["1"]);
}
