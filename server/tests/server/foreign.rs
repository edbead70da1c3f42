//! Threads that a program has made in the store of a server without it: before its start, and while it serves.

use std::sync::Arc;

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};
use superstep::graph::{AnyThread, Request};
use superstep_server::Options;

use crate::api::{Api, all_graphs};

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
    let answer = superstep::graph::Answer::json(&json!("yes"));
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
