//! Threads that are copied, imported, pruned, and kept for a time.

use std::sync::Arc;

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Request;
use superstep_server::Options;

use crate::api::{Api, all_graphs};

async fn run(api: &Api, path: &str, body: Value) -> Value {
    api.post(&format!("{path}/runs/wait"), body).await
}

#[tokio::test]
async fn a_copy_has_all_checkpoints_and_goes_its_own_way() {
    let api = Api::start().await;
    let made = api.post("/threads", json!({ "metadata": { "a": 1 } })).await;
    let path = format!("/threads/{}", made["thread_id"].as_str().unwrap());
    let empty = api.post(&format!("{path}/copy"), json!({})).await;
    assert_eq!((&empty["metadata"], empty.get("values")), (&json!({ "a": 1 }), None));
    run(&api, &path, json!({ "assistant_id": "approval", "input": { "request": "x" } })).await;
    let copy = api.post(&format!("{path}/copy"), json!({})).await;
    assert_eq!(
        (&copy["metadata"]["a"], &copy["metadata"]["graph_id"], copy.get("values")),
        (&json!(1), &json!("approval"), None)
    );
    assert_eq!(copy["status"], "interrupted");
    let other = format!("/threads/{}", copy["thread_id"].as_str().unwrap());
    let steps = async |path: &str| {
        let history = api.post(&format!("{path}/history"), json!({ "limit": 100 })).await;
        history.as_array().unwrap().iter().map(|state| state["values"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(steps(&path).await, steps(&other).await);
    let ids = [api.get(&path).await, api.get(&other).await].map(|thread| {
        thread["interrupts"].as_object().unwrap().values().next().unwrap()[0]["id"].as_str().unwrap().to_owned()
    });
    assert_ne!(ids[0], ids[1]);
    let answer = json!({ "assistant_id": "approval", "command": { "resume": { &ids[1]: "yes" } } });
    assert_eq!(run(&api, &other, answer).await["status"], "approved");
    assert_eq!(api.get(&path).await["status"], "interrupted");
    assert_eq!(api.status(Method::POST, "/threads/none/copy", None).await, 404);
}

#[tokio::test]
async fn the_copy_of_a_thread_with_a_run_has_no_queue() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let slow = json!({ "assistant_id": "slow", "input": { "steps": 1000, "ms": 5 } });
    for _ in 0..2 {
        api.post(&format!("{path}/runs"), slow.clone()).await;
    }
    api.until(&format!("{path}/state"), |state| state["values"]["ticks"].as_u64() > Some(1)).await;
    let copy = api.post(&format!("{path}/copy"), json!({})).await;
    let other = format!("/threads/{}", copy["thread_id"].as_str().unwrap());
    assert_eq!((&copy["status"], api.get(&format!("{other}/runs")).await), (&json!("interrupted"), json!([])));
    let next = run(&api, &other, json!({ "assistant_id": "slow", "input": { "steps": 0, "ms": 1 } })).await;
    assert!(next["ticks"].as_u64() > Some(1), "{next}");
    assert_eq!(api.get(&path).await["status"], "busy");
}

#[tokio::test]
async fn a_thread_that_was_left_with_nodes_to_run_is_not_run_by_itself() {
    let store = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_with(Options::default(), store.clone()).await;
    let path = format!("/threads/{}", api.thread().await);
    run(&api, &path, json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    api.post(&format!("{path}/state"), json!({ "values": { "n": 1 }, "as_node": "step2" })).await;
    let copy = api.post(&format!("{path}/copy"), json!({})).await;
    // A thread that another program wants to be run comes after the two, as they are due since longer.
    let graphs = all_graphs().unwrap().with_shared_checkpointer(store);
    let graph = graphs.get("counter").unwrap();
    let other = graph.thread("other").interrupt_before_all();
    other.run(Request::input(graph.input(&json!({ "n": 1 })).unwrap())).await.unwrap();
    other.request_run().await.unwrap();
    api.until("/threads/other", |found| found["values"]["n"] == 6).await;
    for path in [path, format!("/threads/{}", copy["thread_id"].as_str().unwrap())] {
        let state = api.get(&format!("{path}/state")).await;
        assert_eq!((&state["next"], api.get(&path).await["status"].clone()), (&json!(["step3"]), json!("interrupted")));
    }
}

#[tokio::test]
async fn a_history_is_imported_with_its_thread() {
    let api = Api::start().await;
    let step = |values: Value, node: &str| json!({ "updates": [{ "values": values, "as_node": node }] });
    let supersteps = json!([step(json!({ "n": 1 }), "__start__"), step(json!({ "n": 2, "trail": ["old"] }), "step1")]);
    let body = json!({ "metadata": { "graph_id": "counter" }, "supersteps": supersteps });
    let thread = api.post("/threads", body).await;
    assert_eq!((&thread["values"]["n"], &thread["values"]["trail"]), (&json!(3), &json!(["old"])), "{thread}");
    let path = format!("/threads/{}", thread["thread_id"].as_str().unwrap());
    assert_eq!(api.get(&format!("{path}/state")).await["next"], json!(["step2"]));
    assert_eq!(run(&api, &path, json!({ "assistant_id": "counter", "input": null })).await["n"], 7);
    let wrong =
        json!({ "thread_id": "w", "metadata": { "graph_id": "counter" }, "supersteps": [step(json!({}), "none")] });
    assert_eq!(api.status(Method::POST, "/threads", Some(wrong)).await, 400);
    let unnamed = json!({ "thread_id": "w", "supersteps": supersteps });
    assert_eq!(api.status(Method::POST, "/threads", Some(unnamed)).await, 422);
    assert_eq!(api.status(Method::GET, "/threads/w", None).await, 404);
}

#[tokio::test]
async fn threads_are_pruned_or_only_their_past() {
    let api = Api::start().await;
    let mut threads = vec![];
    for _ in 0..3 {
        let thread = api.thread().await;
        run(&api, &format!("/threads/{thread}"), json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
        threads.push(thread);
    }
    let busy = api.thread().await;
    let slow = json!({ "assistant_id": "slow", "input": { "steps": 1000, "ms": 5 } });
    api.post(&format!("/threads/{busy}/runs"), slow).await;
    let history = async |thread: &str| {
        api.post(&format!("/threads/{thread}/history"), json!({ "limit": 100 })).await.as_array().unwrap().len()
    };
    let before = history(&threads[0]).await;
    let latest =
        api.post("/threads/prune", json!({ "thread_ids": [threads[0], busy], "strategy": "keep_latest" })).await;
    assert_eq!(latest, json!({ "pruned_count": 1 }));
    assert!(history(&threads[0]).await < before);
    assert_eq!(api.get(&format!("/threads/{}", threads[0])).await["values"]["n"], 6);
    let gone = json!({ "thread_ids": [threads[1], threads[2], "none", busy] });
    assert_eq!(api.post("/threads/prune", gone).await, json!({ "pruned_count": 2 }));
    assert_eq!(api.status(Method::GET, &format!("/threads/{}", threads[1]), None).await, 404);
    let unknown = json!({ "thread_ids": [], "strategy": "none" });
    assert_eq!(api.status(Method::POST, "/threads/prune", Some(unknown)).await, 422);
}

#[rstest]
#[case::object(json!({ "ttl": 60, "strategy": "delete" }))]
#[case::number(json!(60))]
#[tokio::test]
async fn the_time_of_a_thread_is_shown_where_it_is_included(#[case] ttl: Value) {
    let api = Api::start().await;
    let thread = api.post("/threads", json!({ "ttl": ttl })).await;
    let path = format!("/threads/{}", thread["thread_id"].as_str().unwrap());
    assert_eq!(api.get(&path).await.get("ttl"), None);
    let shown = api.get(&format!("{path}?include=ttl")).await;
    assert_eq!((&shown["ttl"]["ttl_minutes"], &shown["ttl"]["strategy"]), (&json!(60.0), &json!("delete")));
    assert!(shown["ttl"]["expires_at"].as_str() > shown["created_at"].as_str());
}

#[tokio::test]
async fn a_thread_is_removed_when_its_time_is_over() {
    let api = Api::start().await;
    let thread = api.post("/threads", json!({ "ttl": { "ttl": 1000 } })).await;
    let path = format!("/threads/{}", thread["thread_id"].as_str().unwrap());
    run(&api, &path, json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    assert_eq!(api.status(Method::PATCH, &path, Some(json!({ "ttl": 0.0005 }))).await, 200);
    api.until(&path, |found| found.get("detail").is_some()).await;
    assert_eq!(api.post("/threads/count", json!({})).await, 0);
    for ttl in [json!(-1), json!("long"), json!({ "ttl": 1, "strategy": "none" })] {
        assert_eq!(api.status(Method::POST, "/threads", Some(json!({ "ttl": ttl }))).await, 422);
    }
}
