//! Crons: how they are made and changed, and that each date has one run, whichever server is there.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep_server::Options;

use crate::api::{Api, make_due};

const DUE: (&str, &str, &str) = ("cron", "superstep.server.crons", "next");

fn yearly(more: Value) -> Value {
    let mut body = json!({ "assistant_id": "counter", "schedule": "0 9 1 1 *", "input": { "n": 1 } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The runs of a thread, oldest first.
async fn runs(api: &Api, thread: &str) -> Vec<Value> {
    let mut runs = api.get(&format!("/threads/{thread}/runs?limit=100")).await.as_array().unwrap().clone();
    runs.reverse();
    runs
}

#[tokio::test]
async fn a_cron_is_made_found_changed_and_removed() {
    let api = Api::start().await;
    let thread = api.thread().await;
    let body = yearly(json!({ "timezone": "America/New_York", "metadata": { "a": 1 }, "webhook": null }));
    let made = api.post(&format!("/threads/{thread}/runs/crons"), body).await;
    assert_eq!((&made["thread_id"], &made["enabled"], &made["user_id"]), (&json!(thread), &json!(true), &Value::Null));
    assert!(made["next_run_date"].as_str().unwrap().ends_with("-01-01T14:00:00.000000+00:00"), "{made}");
    assert_eq!((&made["payload"]["input"], &made["payload"]["schedule"]), (&json!({ "n": 1 }), &Value::Null));
    let free = api.post("/runs/crons", yearly(json!({ "on_run_completed": "keep" }))).await;
    assert_eq!((&free["thread_id"], &free["on_run_completed"]), (&Value::Null, &json!("keep")));
    assert!(made["assistant_id"].as_str().unwrap().parse::<uuid::Uuid>().is_ok());

    let found = api.post("/runs/crons/search", json!({ "thread_id": thread })).await;
    assert_eq!(found, json!([made]));
    assert_eq!(api.post("/runs/crons/count", json!({ "assistant_id": "counter" })).await, 2);
    let sorted =
        api.post("/runs/crons/search", json!({ "sort_by": "cron_id", "sort_order": "asc", "select": ["cron_id"] }));
    assert_eq!(sorted.await, json!([{ "cron_id": made["cron_id"] }, { "cron_id": free["cron_id"] }]));

    let path = format!("/runs/crons/{}", made["cron_id"].as_str().unwrap());
    let patch = async |body: Value| {
        let changed = api.send(Method::PATCH, &path, Some(body)).await;
        changed.json::<Value>().await.unwrap()
    };
    let later = patch(json!({ "schedule": "30 10 1 1 *", "metadata": { "b": 2 } })).await;
    assert!(later["next_run_date"].as_str().unwrap().ends_with("-01-01T15:30:00.000000+00:00"), "{later}");
    assert_eq!((&later["metadata"], &later["payload"]["input"]), (&json!({ "a": 1, "b": 2 }), &json!({ "n": 1 })));
    assert_eq!(patch(json!({ "enabled": false })).await["next_run_date"], Value::Null);
    assert_ne!(patch(json!({ "enabled": true })).await["next_run_date"], Value::Null);
    assert_eq!(patch(json!({ "end_time": "2020-01-01T00:00:00" })).await["next_run_date"], Value::Null);
    assert_eq!(api.send(Method::DELETE, &path, None).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(api.send(Method::GET, &path, None).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(api.get("/info").await["flags"]["crons"], true);
}

#[rstest]
#[case::schedule(json!({ "schedule": "often" }), 422, "`often`")]
#[case::seconds(json!({ "schedule": "0 0 9 1 1 *" }), 422, "five fields")]
#[case::no_schedule(json!({ "schedule": null }), 422, "schedule is missing")]
#[case::zone(json!({ "timezone": "Middle/Earth" }), 422, "no time zone `Middle/Earth`")]
#[case::end(json!({ "end_time": "soon" }), 422, "`soon` is no time")]
#[case::completion(json!({ "on_run_completed": "stay" }), 422, "delete or keep")]
#[case::assistant(json!({ "assistant_id": "none" }), 422, "`none`")]
#[case::input(json!({ "input": { "n": "x" } }), 422, "n")]
#[case::webhook(json!({ "webhook": "http://127.0.0.1/" }), 422, "not public")]
#[tokio::test]
async fn a_cron_whose_runs_cannot_be_created_is_refused(
    #[case] more: Value,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let api = Api::start().await;
    let response = api.send(Method::POST, "/runs/crons", Some(yearly(more))).await;
    assert_eq!(response.status().as_u16(), status);
    let body: Value = response.json().await.unwrap();
    assert!(body["detail"].as_str().unwrap().contains(reason), "{body}");
    assert_eq!(api.post("/runs/crons/count", json!({})).await, 0);
}

#[tokio::test]
async fn each_date_has_one_run_although_two_servers_see_it() {
    let store = Arc::new(MemoryCheckpointer::new());
    let first = Api::start_with(Options::default(), store.clone()).await;
    let second = Api::start_with(Options::default(), store.clone()).await;
    let thread = first.thread().await;
    let cron = first.post(&format!("/threads/{thread}/runs/crons"), yearly(json!({}))).await;
    let path = format!("/runs/crons/{}", cron["cron_id"].as_str().unwrap());
    for nth in 1..=5 {
        make_due(&*store, DUE).await;
        second.until(&path, |found| found["next_run_date"] == cron["next_run_date"]).await;
        let found = runs(&first, &thread).await;
        assert_eq!(found.len(), nth);
        assert_eq!(found[nth - 1]["metadata"]["cron_id"], cron["cron_id"]);
    }
    for run in runs(&first, &thread).await {
        second.get(&format!("/threads/{thread}/runs/{}/join", run["run_id"].as_str().unwrap())).await;
    }
    assert_eq!(second.get(&format!("/threads/{thread}/state")).await["values"]["n"], 30); // each run adds six
}

#[tokio::test]
async fn a_date_that_passed_while_no_server_was_there_has_one_run() {
    let store = Arc::new(MemoryCheckpointer::new());
    let stop = superstep::graph::CancellationToken::new();
    let api = Api::start_with(Options::default().stop_with(stop.clone()), store.clone()).await;
    let cron = api.post("/runs/crons", yearly(json!({ "schedule": "* * * * *", "on_run_completed": "keep" }))).await;
    stop.cancel();
    make_due(&*store, DUE).await; // more than fifty years of minutes are missed
    let api = Api::start_with(Options::default(), store).await;
    let path = format!("/runs/crons/{}", cron["cron_id"].as_str().unwrap());
    api.until(&path, |found| !found["next_run_date"].as_str().unwrap().starts_with("1970")).await;
    let threads = api.post("/threads/search", json!({})).await;
    assert_eq!(threads.as_array().unwrap().len(), 1);
    let thread = threads[0]["thread_id"].as_str().unwrap();
    let found = runs(&api, thread).await;
    assert_eq!(found.len(), 1);
    api.get(&format!("/threads/{thread}/runs/{}/join", found[0]["run_id"].as_str().unwrap())).await;
    assert_eq!(api.get(&format!("/threads/{thread}")).await["values"]["n"], 6);
}

#[tokio::test]
async fn a_cron_ends_with_its_thread_and_its_own_threads_end_with_their_runs() {
    let store = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_with(Options::default(), store.clone()).await;
    let thread = api.thread().await;
    api.post(&format!("/threads/{thread}/runs/crons"), yearly(json!({}))).await;
    let free = api.post("/runs/crons", yearly(json!({}))).await;
    assert_eq!(api.status(Method::DELETE, &format!("/threads/{thread}"), None).await, 204);
    make_due(&*store, DUE).await;
    let path = format!("/runs/crons/{}", free["cron_id"].as_str().unwrap());
    api.until(&path, |found| found["next_run_date"] == free["next_run_date"]).await;
    while api.post("/runs/crons/count", json!({})).await != 1 {}
    assert_eq!(api.post("/threads/count", json!({})).await, 0);
}
