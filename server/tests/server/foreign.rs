//! Threads that a program has made in the store of a server without it: before its start, and while it serves.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};
use superstep::graph::{Answer, AnyThread, Graphs, Request};
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, Process, all_graphs, program};
use crate::postgres;
use crate::watched_store::{MANY, WatchedStore};

type Store = Arc<dyn Checkpointer>;

/// Returns a thread of a program that has the graphs and the store too.
fn thread(store: &Store, graph: &str, name: &str) -> AnyThread {
    let graphs = all_graphs().unwrap().with_shared_checkpointer(Arc::clone(store));
    graphs.get(graph).unwrap().thread(name)
}

async fn run(store: &Store, graph: &str, name: &str, input: Value) {
    let thread = thread(store, graph, name);
    let input = thread.graph().input(&input).unwrap();
    _ = thread.run(Request::input(input)).await;
}

/// Runs a thread that has ended, one that asks and one that has failed.
async fn make_threads(store: &Store) {
    run(store, "counter", "ended", json!({ "n": 1 })).await;
    run(store, "approval", "asks", json!({ "request": "x" })).await;
    run(store, "fails", "failed", json!({ "reason": "why" })).await;
}

async fn names(api: &Api, mut body: Value) -> Vec<String> {
    body["sort_by"] = "thread_id".into();
    body["sort_order"] = "asc".into();
    let found = api.post("/threads/search", body).await;
    found.as_array().unwrap().iter().map(|thread| thread["thread_id"].as_str().unwrap().to_owned()).collect()
}

#[rstest]
#[case::all(json!({}), &["asks", "ended", "failed"])]
#[case::idle(json!({ "status": "idle" }), &["ended"])]
#[case::interrupted(json!({ "status": "interrupted" }), &["asks"])]
#[case::failed(json!({ "status": "error" }), &["failed"])]
#[case::busy(json!({ "status": "busy" }), &[])]
#[case::graph(json!({ "metadata": { "graph_id": "counter" } }), &["ended"])]
#[case::values(json!({ "values": { "n": 6 } }), &["ended"])]
#[tokio::test]
async fn threads_of_another_program_are_listed(
    #[case] body: Value,
    #[case] expected: &[&str],
    #[values(true, false)] is_before: bool,
) {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    if is_before {
        make_threads(&store).await;
    }
    let api = Api::start_with(Options::default(), Arc::clone(&store)).await;
    if !is_before {
        assert_eq!(names(&api, json!({})).await, [""; 0]);
        make_threads(&store).await;
    }
    assert_eq!(names(&api, body.clone()).await, expected);
    assert_eq!(api.post("/threads/count", body).await, expected.len());
}

#[tokio::test]
async fn a_thread_that_another_program_runs_is_busy_and_resumed_once_that_has_stopped() {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_with(Options::default(), Arc::clone(&store)).await;
    let slow = thread(&store, "slow", "slow");
    let input = slow.graph().input(&json!({ "steps": 100_000, "ms": 1 })).unwrap();
    let running = tokio::spawn(async move { slow.run(Request::input(input)).await.map(drop) });
    while names(&api, json!({ "status": "busy" })).await != ["slow"] {
        assert!(!running.is_finished());
    }
    assert_eq!(api.get("/threads/slow").await["status"], "busy");
    running.abort();
    _ = running.await;
    let runs = async || api.send(Method::GET, "/threads/slow/runs", None).await.json::<Value>().await.unwrap();
    while runs().await.get(0).is_none_or(|run| run["metadata"]["created_by"] != "system") {}
    assert_eq!(names(&api, json!({})).await, ["slow"]);
}

#[tokio::test]
async fn a_thread_of_the_server_that_another_program_finished_is_idle() {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_with(Options::default(), Arc::clone(&store)).await;
    let request = json!({ "assistant_id": "approval", "if_not_exists": "create", "input": { "request": "x" } });
    api.post("/threads/t/runs/wait", request).await;
    assert_eq!(names(&api, json!({ "status": "interrupted" })).await, ["t"]);
    let answer = Answer::json(&json!("yes"));
    thread(&store, "approval", "t").run(Request::answers([answer])).await.unwrap();
    assert_eq!(names(&api, json!({ "status": "idle" })).await, ["t"]);
    assert_eq!(names(&api, json!({ "status": "interrupted" })).await, [""; 0]);
}

#[tokio::test]
async fn pages_hold_threads_of_both_in_the_order_of_their_times() {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    let wait = || {
        let before = superstep_base::time::now();
        while superstep_base::time::now() == before {}
    };
    run(&store, "counter", "a", json!({})).await;
    wait();
    let api = Api::start_with(Options::default(), Arc::clone(&store)).await;
    api.post("/threads", json!({ "thread_id": "b" })).await;
    wait();
    run(&store, "counter", "c", json!({})).await;
    let page = async |offset: usize| {
        let body = json!({ "limit": 2, "offset": offset, "select": ["thread_id"] });
        let answer = api.send(Method::POST, "/threads/search", Some(body)).await;
        let next = answer.headers().get("x-pagination-next").map(|text| text.to_str().unwrap().to_owned());
        (next, answer.json::<Value>().await.unwrap())
    };
    assert_eq!(page(0).await, (Some("2".into()), json!([{ "thread_id": "c" }, { "thread_id": "b" }])));
    assert_eq!(page(2).await, (None, json!([{ "thread_id": "a" }])));
}

#[tokio::test]
async fn a_found_thread_is_run_and_deleted_as_any_other() {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    run(&store, "counter", "t", json!({ "n": 1 })).await;
    let api = Api::start_with(Options::default(), store).await;
    assert_eq!(names(&api, json!({})).await, ["t"]);
    let values = api.post("/threads/t/runs/wait", json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    assert_eq!(values["n"], 12);
    assert_eq!(api.status(Method::DELETE, "/threads/t", None).await, 204);
    assert_eq!(names(&api, json!({})).await, [""; 0]);
}

#[tokio::test]
async fn a_page_of_the_newest_threads_does_not_wait_for_older_ones() {
    let inner = MemoryCheckpointer::new();
    let program: Store = Arc::new(inner.clone());
    for (hours, age, number) in [(48, "old", 640), (24, "new", 40)] {
        let time = SystemTime::now() - Duration::from_secs(3600 * hours);
        let graphs = all_graphs().unwrap().with_shared_checkpointer(Arc::clone(&program)).with_clock(move || time);
        for number in 0..number {
            let counter = graphs.get("counter").unwrap();
            let input = counter.input(&json!({})).unwrap();
            counter.thread(format!("{age} {number:03}")).run(Request::input(input)).await.unwrap();
        }
    }
    let store = WatchedStore::new(inner, 1); // for the first of two pages of records
    let api = Api::start_with(Options::default(), store.clone()).await;
    let page = json!({ "limit": 20, "select": ["thread_id"] });
    let found = api.post("/threads/search", page.clone()).await;
    assert!(found.as_array().is_some_and(|page| page.len() == 20), "{found}");
    assert!(found.as_array().unwrap().iter().all(|thread| thread["thread_id"].as_str().unwrap().starts_with("new")));
    run(&program, "counter", "now", json!({})).await;
    assert_eq!(api.post("/threads/search", page).await[0], json!({ "thread_id": "now" }));
    store.permits.add_permits(MANY);
    assert_eq!(api.post("/threads/count", json!({})).await, 681);
    let last = api.post("/threads/search", json!({ "limit": 10, "offset": 671 })).await;
    assert_eq!(last.as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn a_look_at_all_threads_reads_none_by_itself() {
    let inner = MemoryCheckpointer::new();
    let program: Store = Arc::new(inner.clone());
    for number in 0..30 {
        run(&program, "approval", &format!("asks {number}"), json!({ "request": "x" })).await;
    }
    let store = WatchedStore::new(inner, 0);
    let api = Api::start_with(Options::default(), store.clone()).await;
    assert_eq!(api.post("/threads/count", json!({ "status": "interrupted" })).await, 30);
    assert_eq!(store.reads.load(Ordering::SeqCst), 0);
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Doubt {
    is_sure: bool,
}

#[derive(NodeId)]
enum Thinker {
    Decide,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct IsSure(String);

/// Returns a graph that asks, and fails if the answer is no.
fn doubts() -> Graphs {
    let decide = async |_: Arc<Doubt>, ctx: Ctx| match ctx.interrupt(IsSure("really?".into()))? {
        true => Ok(Doubt::update().is_sure(true)),
        false => Err(NodeError::permanent("not sure")),
    };
    let graph =
        StateGraph::new().add_node(Thinker::Decide, decide.asks::<IsSure>()).add_sequence([Thinker::Decide]).compile();
    Graphs::new().with(graph.unwrap().named("doubt"))
}

/// Starts a server on a store with the thread t, which asks; returns the thread of another program too.
async fn start_asking(store: &Store) -> (Api, AnyThread) {
    let api = Api::start_graphs(doubts(), Options::default(), Arc::clone(store)).await;
    let request = json!({ "assistant_id": "doubt", "if_not_exists": "create", "input": {} });
    api.post("/threads/t/runs/wait", request).await;
    assert_eq!(names(&api, json!({ "status": "interrupted" })).await, ["t"]);
    let graphs = doubts().with_shared_checkpointer(Arc::clone(store));
    (api, graphs.get("doubt").unwrap().thread("t"))
}

#[rstest]
#[case::of_the_thread(Method::GET, "/threads/t", Value::Null)]
#[case::of_all(Method::POST, "/threads/search", json!({}))]
#[case::of_those_that_asked(Method::POST, "/threads/search", json!({ "status": "interrupted" }))]
#[tokio::test]
async fn a_thread_that_fails_elsewhere_has_failed_here(
    #[case] method: Method,
    #[case] path: &str,
    #[case] body: Value,
    #[values(true, false)] is_restarted: bool,
) {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    let (mut api, thread) = start_asking(&store).await;
    assert!(thread.run(Request::answers([Answer::json(&json!(false))])).await.is_err());
    if is_restarted {
        api = Api::start_graphs(doubts(), Options::default(), Arc::clone(&store)).await;
        assert_eq!(api.post("/threads/count", json!({ "status": "error" })).await, 1);
    }
    let body = (!body.is_null()).then_some(body);
    let answer: Value = api.send(method, path, body).await.json().await.unwrap();
    let shown = answer.get(0).unwrap_or(&answer);
    assert!(shown == &json!([]) || shown["status"] == "error" && shown["error"]["error"] == "RunError", "{shown}");
    assert_eq!(names(&api, json!({ "status": "interrupted" })).await, [""; 0]);
    assert_eq!(names(&api, json!({ "status": "error" })).await, ["t"]);
    assert_eq!(api.post("/threads/count", json!({ "status": "interrupted" })).await, 0);
}

#[rstest]
#[case::of_the_thread(Method::GET, "/threads/t", None, 404)]
#[case::of_all(Method::POST, "/threads/search", Some(json!({})), 200)]
#[tokio::test]
async fn a_thread_that_is_deleted_elsewhere_is_gone_here(
    #[case] method: Method,
    #[case] path: &str,
    #[case] body: Option<Value>,
    #[case] status: u16,
    #[values(true, false)] is_restarted: bool,
) {
    let store: Store = Arc::new(MemoryCheckpointer::new());
    let (mut api, thread) = start_asking(&store).await;
    api.post("/threads", json!({ "thread_id": "unborn" })).await;
    thread.delete().await.unwrap();
    if is_restarted {
        api = Api::start_graphs(doubts(), Options::default(), Arc::clone(&store)).await;
        assert_eq!(api.post("/threads/count", json!({})).await, 1);
    }
    assert_eq!(api.status(method, path, body).await, status);
    assert_eq!(names(&api, json!({})).await, ["unborn"]);
    assert_eq!(api.post("/threads/count", json!({})).await, 1);
    assert_eq!(api.status(Method::GET, "/threads/t/runs", None).await, 404);
    assert_eq!(api.status(Method::GET, "/threads/unborn", None).await, 200);
}

#[tokio::test]
async fn a_thread_that_a_command_deletes_is_gone_from_all_servers() {
    let Some(store) = postgres::new_store() else { return };
    let serve = || Process::of(program().args(["serve", "--listen", "127.0.0.1:0", "--store", &store]));
    let servers = [serve(), serve()];
    let request = json!({ "assistant_id": "approval", "if_not_exists": "create", "input": { "request": "x" } });
    servers[0].1.post("/threads/t/runs/wait", request).await;
    for (_, api) in &servers {
        assert_eq!(names(api, json!({})).await, ["t"]);
    }
    let deleted = Process::command(store.as_ref(), &["delete", "t"]);
    assert!(deleted.status.success(), "{}", String::from_utf8_lossy(&deleted.stderr));
    for (_, api) in &servers {
        assert_eq!(names(api, json!({})).await, [""; 0]);
        assert_eq!(api.status(Method::GET, "/threads/t", None).await, 404);
    }
}
