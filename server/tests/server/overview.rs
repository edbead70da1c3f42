//! The status of threads, how much work waits, and which graphs there are.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Graphs;
use superstep_server::Options;

use crate::api::{Api, all_graphs};
use crate::watched_store::{MANY, WatchedStore};

async fn start() -> Api {
    let graphs = all_graphs().unwrap().into_iter().map(|graph| match graph.name() {
        "approval" => graph.with_about("asks before it acts").answered_by_people(),
        _ => graph,
    });
    Api::start_graphs(graphs.collect::<Graphs>(), Options::default(), Arc::new(MemoryCheckpointer::new())).await
}

async fn run(api: &Api, thread: &str, graph: &str, input: Value) {
    let metadata = json!({ "customer": 7 });
    api.post("/threads", json!({ "thread_id": thread, "metadata": metadata })).await;
    api.post(&format!("/threads/{thread}/runs/wait"), json!({ "assistant_id": graph, "input": input })).await;
}

#[tokio::test]
async fn a_status_has_the_fields_of_the_command_line() {
    let api = start().await;
    run(&api, "asks", "approval", json!({ "request": "x" })).await;
    let shown = api.get("/threads/asks/status").await;
    let expected = json!({ "status": "interrupted", "thread": "asks", "graph": "approval", "next": ["review"], "step": 1, "running": [],
        "foreign": false, "trusted": true });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&shown[name], value, "{name}: {shown}");
    }
    assert_eq!((&shown["metadata"]["customer"], &shown["questions"][0]["name"]), (&json!(7), &json!("approve")));
    assert!(shown["checkpoint"].is_u64() && shown["updated_at"].as_str().unwrap().ends_with('Z'), "{shown}");

    run(&api, "failed", "fails", json!({ "reason": "no paper" })).await;
    let failed = api.get("/threads/failed/status").await;
    assert_eq!(failed["status"], "failed");
    assert!(failed["reason"].as_str().unwrap().contains("boom: no paper"), "{failed}");

    api.post("/threads", json!({ "thread_id": "new" })).await;
    assert_eq!(api.get("/threads/new/status").await["status"], "new");
    assert_eq!(api.status(Method::GET, "/threads/nobody/status", None).await, 404);
}

#[tokio::test]
async fn a_status_names_the_tasks_that_run() {
    let api = start().await;
    let body = json!({ "assistant_id": "slow", "input": { "steps": 100_000, "ms": 1 }, "if_not_exists": "create" });
    let created = api.post("/threads/slow/runs", body).await;
    let is_running = |shown: &Value| shown["status"] == "running" && shown["running"][0]["node"] == "tick";
    api.until("/threads/slow/status", is_running).await;
    let health = api.until("/health", |health| health["queue"]["running"] == 1).await;
    assert_eq!((&health["queue"]["pending"], &health["queue"]["oldest_at"]), (&json!(0), &Value::Null));
    let waits = json!({ "assistant_id": "slow", "input": {} });
    api.post("/threads/slow/runs", waits).await;
    let health = api.get("/health").await;
    assert_eq!(health["queue"]["pending"], 1);
    assert!(health["queue"]["oldest_at"].is_string(), "{health}");
    let cancel = format!("/threads/slow/runs/{}/cancel", created["run_id"].as_str().unwrap());
    api.send(Method::POST, &cancel, Some(json!({}))).await;
}

#[tokio::test]
async fn health_counts_many_runs_without_their_requests() {
    let store = WatchedStore::new(MemoryCheckpointer::new(), 0); // many records at once are never read
    let api = Api::start_with(Options::default(), store).await;
    let body = json!({ "assistant_id": "slow", "input": { "steps": 1_000_000, "ms": 1 }, "if_not_exists": "create" });
    for _ in 0..=MANY + 1 {
        api.post("/threads/slow/runs", body.clone()).await;
    }
    let health = api.until("/health", |health| health["queue"]["running"] == 1).await;
    assert_eq!(health["queue"]["pending"], MANY + 1);
}

#[tokio::test]
async fn health_counts_the_open_questions() {
    let api = start().await;
    let none = json!({ "open": 0, "oldest_at": null });
    assert_eq!(api.get("/health").await["questions"], none);
    for thread in ["a", "b"] {
        run(&api, thread, "approval", json!({ "request": "x" })).await;
    }
    let health = api.get("/health").await;
    let oldest = api.get("/threads/a/status").await["updated_at"].clone();
    assert_eq!(health["questions"], json!({ "open": 2, "oldest_at": oldest }));
    assert_eq!(health["workers"], json!([]));
}

#[tokio::test]
async fn graphs_have_their_assistants_and_who_answers_them() {
    let api = start().await;
    let made = api.post("/assistants", json!({ "graph_id": "approval", "name": "strict" })).await;
    let graphs = api.get("/graphs").await;
    let graphs = graphs.as_array().unwrap();
    assert_eq!(graphs.len(), all_graphs().unwrap().iter().count());
    let found = |name: &str| graphs.iter().find(|graph| graph["graph"] == name).unwrap();
    let (approval, counter) = (found("approval"), found("counter"));
    assert_eq!((&approval["about"], &approval["answered_by_people"]), (&json!("asks before it acts"), &json!(true)));
    assert_eq!((&counter["about"], &counter["answered_by_people"]), (&Value::Null, &json!(false)));
    assert_eq!((&counter["takes_one_input"], counter["assistants"].as_array().unwrap().len()), (&json!(false), 1));
    let assistants = approval["assistants"].as_array().unwrap();
    assert!(assistants.contains(&json!({ "assistant_id": made["assistant_id"], "name": "strict" })), "{assistants:?}");
}
