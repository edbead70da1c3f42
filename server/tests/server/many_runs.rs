//! Several runs at once, runs that are named without their thread, and runs that start later.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, ItemScan, MemoryCheckpointer};
use superstep_server::Options;

use crate::api::{Api, events, make_due};

fn slow(steps: u64) -> Value {
    json!({ "assistant_id": "slow", "input": { "steps": steps, "ms": 10 } })
}

#[tokio::test]
async fn a_batch_is_a_run_for_each_body_or_none() {
    let api = Api::start().await;
    let one = |n: u64| json!({ "assistant_id": "counter", "input": { "n": n }, "on_completion": "keep" });
    let runs = api.post("/runs/batch", json!([one(1), one(2)])).await;
    let runs = runs.as_array().unwrap();
    assert_ne!(runs[0]["thread_id"], runs[1]["thread_id"]);
    for (run, n) in runs.iter().zip([6, 7]) {
        let values = api.get(&format!("/runs/{}/join", run["run_id"].as_str().unwrap())).await;
        assert_eq!(values["n"], n);
    }
    let refused = api.send(Method::POST, "/runs/batch", Some(json!([one(1), { "assistant_id": "none" }]))).await;
    assert_eq!(refused.status().as_u16(), 422);
    let body: Value = refused.json().await.unwrap();
    assert!(body["detail"].as_str().unwrap().starts_with("run 1: "), "{body}");
    assert_eq!(api.post("/threads/count", json!({})).await, 2);
}

#[rstest]
#[case::named(json!({ "thread_id": "THREAD", "run_ids": ["FIRST", "LAST"] }), [true, false, true])]
#[case::all(json!({ "status": "all" }), [true, true, true])]
#[case::pending(json!({ "status": "pending" }), [false, true, true])]
#[case::running(json!({ "status": "running" }), [true, false, false])]
#[tokio::test]
async fn runs_are_cancelled_together(#[case] body: Value, #[case] stopped: [bool; 3]) {
    let api = Api::start().await;
    let thread = api.thread().await;
    let path = format!("/threads/{thread}/runs");
    let mut runs = vec![];
    for steps in [1000, 2, 2] {
        runs.push(api.post(&path, slow(steps)).await["run_id"].as_str().unwrap().to_owned());
    }
    api.until(&format!("{path}/{}", runs[0]), |run| run["status"] == "running").await;
    let text = body.to_string().replace("THREAD", &thread).replace("FIRST", &runs[0]).replace("LAST", &runs[2]);
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(api.status(Method::POST, "/runs/cancel?action=interrupt", Some(body)).await, 204);
    if !stopped[0] {
        api.send(Method::POST, &format!("{path}/{}/cancel?wait=1", runs[0]), None).await;
    }
    for (run, is_stopped) in runs.iter().zip(stopped).skip(usize::from(!stopped[0])) {
        let has_ended = |run: &Value| !["pending", "running"].map(Value::from).contains(&run["status"]);
        let ended = api.until(&format!("{path}/{run}"), has_ended).await;
        assert_eq!(ended["status"], if is_stopped { "interrupted" } else { "success" });
    }
    let none = api.status(Method::POST, "/runs/cancel", Some(json!({ "status": "all" }))).await;
    assert_eq!(none, 404);
}

#[rstest]
#[case::action("?action=none", json!({ "status": "all" }))]
#[case::status("", json!({ "status": "none" }))]
#[case::nothing("", json!({}))]
#[case::no_ids("", json!({ "thread_id": "a" }))]
#[tokio::test]
async fn a_choice_that_is_none_is_refused(#[case] query: &str, #[case] body: Value) {
    let api = Api::start().await;
    assert_eq!(api.status(Method::POST, &format!("/runs/cancel{query}"), Some(body)).await, 422);
}

#[tokio::test]
async fn a_run_is_followed_without_its_thread() {
    let api = Api::start().await;
    let mut body = slow(3);
    (body["stream_mode"], body["stream_resumable"]) = ("custom".into(), true.into());
    let run = api.post("/runs", body).await;
    let stream = format!("{}/runs/{}/stream?stream_mode=custom", api.address, run["run_id"].as_str().unwrap());
    let all = events(api.client.get(stream).header("Last-Event-ID", "-1").send().await.unwrap()).await;
    let ticks: Vec<Value> = all.into_iter().map(|(_, data, _)| data).collect();
    assert_eq!(ticks, [1, 2, 3].map(|tick| json!({ "tick": tick })));
    for path in ["join", "stream"] {
        let unknown = format!("/runs/{}/{path}", uuid::Uuid::nil());
        assert_eq!(api.status(Method::GET, &unknown, None).await, 404);
    }
}

#[tokio::test]
async fn a_run_without_a_thread_leaves_nothing_in_the_store() {
    let store = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_with(Options::default(), store.clone()).await;
    assert_eq!(api.post("/runs/wait", json!({ "assistant_id": "counter", "input": { "n": 1 } })).await["n"], 6);
    let later = json!({ "assistant_id": "counter", "input": { "n": 1 }, "after_seconds": 3600 });
    let later = api.post("/runs", later).await;
    let path = ["thread_id", "run_id"].map(|id| later[id].as_str().unwrap());
    let cancel = format!("/threads/{}/runs/{}/cancel?wait=1", path[0], path[1]);
    assert_eq!(api.status(Method::POST, &cancel, None).await, 200);
    let left = store.scan_items(&ItemScan::all()).await.unwrap();
    let namespaces: BTreeSet<String> = left.into_iter().map(|(key, _)| key.namespace.to_string()).collect();
    let own = ["assistants", "marks"].map(|name| format!("superstep.server.{name}"));
    assert!(namespaces.iter().all(|namespace| own.contains(namespace)), "{namespaces:?}");
    assert!(store.threads(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_that_starts_later_blocks_no_other_and_survives_its_server() {
    let store = Arc::new(MemoryCheckpointer::new());
    let stop = superstep::graph::CancellationToken::new();
    let api = Api::start_with(Options::default().stop_with(stop.clone()), store.clone()).await;
    let thread = api.thread().await;
    let path = format!("/threads/{thread}/runs");
    let mut later = json!({ "assistant_id": "counter", "input": { "n": 100 }, "after_seconds": 3600 });
    let run = api.post(&path, later.clone()).await;
    let gone = api.post(&path, later.clone()).await;
    let cancel = format!("{path}/{}/cancel?wait=1", gone["run_id"].as_str().unwrap());
    assert_eq!(api.status(Method::POST, &cancel, None).await, 200);
    let now = api.post(&format!("{path}/wait"), json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    assert_eq!(now["n"], 6);
    let pending = format!("{path}/{}", run["run_id"].as_str().unwrap());
    assert_eq!(
        (api.get(&pending).await["status"].clone(), api.get(&format!("/threads/{thread}")).await["status"].clone()),
        (json!("pending"), json!("idle"))
    );
    stop.cancel();
    make_due(&*store, ("run", "superstep.server.runs", "starts_at")).await;
    let api = Api::start_with(Options::default(), store).await;
    api.until(&pending, |run| run["status"] == "success").await;
    assert_eq!(api.get(&format!("/threads/{thread}/state")).await["values"]["n"], 111);
    later["multitask_strategy"] = "interrupt".into();
    assert_eq!(api.status(Method::POST, &path, Some(later)).await, 422);
}
