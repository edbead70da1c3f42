//! What front ends send that other clients do not: ids taken out of paths, lists as JSON in a query, questions that are left alone.

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};

use crate::api::{Api, events};

#[tokio::test]
async fn the_path_of_a_run_has_the_id_of_its_thread_as_it_is() {
    let api = Api::start().await;
    let id = api.thread().await;
    let body = json!({ "assistant_id": "counter", "input": { "n": 1 } });
    let answer = api.send(Method::POST, &format!("/threads/{id}/runs/stream"), Some(body.clone())).await;
    let place = answer.headers()["content-location"].to_str().unwrap();
    assert!(place.starts_with(&format!("/threads/{id}/runs/")), "{place}");

    api.post("/threads", json!({ "thread_id": "a/b c" })).await;
    let answer = api.send(Method::POST, "/threads/a%2Fb%20c/runs/stream", Some(body)).await;
    assert!(answer.headers()["location"].to_str().unwrap().starts_with("/threads/a%2Fb%20c/runs/"));
}

#[rstest]
#[case::list("stream_mode=%5B%22custom%22%2C%22updates%22%5D")]
#[case::commas("stream_modes=custom,updates")]
#[case::repeated("stream_mode=custom&stream_mode=updates")]
#[tokio::test]
async fn modes_of_a_joined_stream_are_read_as_each_client_writes_them(#[case] query: &str) {
    let api = Api::start().await;
    let path = format!("/threads/{}/runs", api.thread().await);
    let modes = ["values", "custom", "updates"];
    let body = json!({
        "assistant_id": "slow", "input": { "steps": 1, "ms": 1 }, "stream_mode": modes, "stream_resumable": true
    });
    let run = api.post(&path, body).await["run_id"].as_str().unwrap().to_owned();
    let stream = format!("{}{path}/{run}/stream?{query}", api.address);
    let all = events(api.client.get(stream).header("Last-Event-ID", "-1").send().await.unwrap()).await;
    let names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["custom", "updates"]);
}

#[rstest]
#[case::one(json!("__end__"))]
#[case::list(json!(["__end__"]))]
#[case::node(json!({ "node": "__end__", "input": null }))]
#[tokio::test]
async fn a_question_that_is_marked_as_resolved_stays_open(#[case] end: Value) {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "approval", "input": { "request": "x" } })).await;
    let body = json!({ "assistant_id": "approval", "input": {}, "command": { "goto": end } });
    let values = api.post(&format!("{path}/runs/wait"), body).await;
    assert_eq!(values["__interrupt__"][0]["superstep"]["name"], "approve", "{values}");
    assert_eq!(api.get(&path).await["status"], "interrupted");
}
