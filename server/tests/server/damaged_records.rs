//! Damaged records of the server: each costs only itself, in lists, in the queue and in the inbox.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, ItemKey, ItemScan, ItemWrite, MemoryCheckpointer};
use superstep::graph::CancellationToken;
use superstep_server::Options;

use crate::api::Api;
use crate::watched_store::{Damage, WatchedStore};

/// Damages the record of a namespace whose key has a part.
async fn damage(store: &dyn Checkpointer, namespace: &str, part: &str) {
    let found = store.scan_items(&ItemScan::of(&*format!("superstep.server.{namespace}"))).await.unwrap();
    let keys: Vec<ItemKey> = found.into_iter().map(|(key, _)| key).filter(|key| key.key.contains(part)).collect();
    assert_eq!(keys.len(), 1, "{namespace} {part}: {keys:?}");
    store.write_items(keys.into_iter().map(|key| ItemWrite::put(key, "damaged")).collect()).await.unwrap();
}

fn texts<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let mut texts: Vec<_> = list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap()).collect();
    texts.sort_unstable();
    texts
}

async fn start() -> (Api, Arc<MemoryCheckpointer>) {
    let store = Arc::new(MemoryCheckpointer::new());
    (Api::start_with(Options::default(), store.clone()).await, store)
}

async fn wait(api: &Api, thread: &str, graph: &str, input: Value) -> Value {
    let body = json!({ "assistant_id": graph, "input": input, "if_not_exists": "create" });
    api.post(&format!("/threads/{thread}/runs/wait"), body).await
}

#[rstest]
#[case::newest_first(json!({}))]
#[case::by_name(json!({ "sort_by": "thread_id" }))]
#[case::by_status(json!({ "sort_by": "status" }))]
#[case::of_a_value(json!({ "values": { "n": 6 } }))]
#[case::of_names(json!({ "ids": ["bad", "good", "other"] }))]
#[tokio::test]
async fn a_damaged_thread_is_left_out_of_lists(#[case] search: Value) {
    let (api, store) = start().await;
    for thread in ["bad", "good", "other"] {
        wait(&api, thread, "counter", json!({ "n": 1 })).await;
    }
    damage(&*store, "threads", "bad").await;
    assert_eq!(texts(&api.post("/threads/search", search.clone()).await, "thread_id"), ["good", "other"]);
    let mut page = search;
    (page["limit"], page["offset"]) = (1.into(), 1.into());
    assert_eq!(api.post("/threads/search", page).await.as_array().unwrap().len(), 1);
    let answer = api.send(Method::GET, "/threads/bad", None).await;
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let detail: Value = answer.json().await.unwrap();
    assert!(detail["detail"].as_str().unwrap().contains("the record `bad` of `superstep.server.threads`"), "{detail}");
    assert_eq!(wait(&api, "new", "counter", json!({ "n": 1 })).await["n"], 6);
}

#[tokio::test]
async fn a_thread_whose_state_cannot_be_read_is_in_lists_without_it() {
    let store = WatchedStore::new(MemoryCheckpointer::new(), 1 << 20);
    let api = Api::start_with(Options::default(), store.clone()).await;
    for thread in ["bad", "good"] {
        wait(&api, thread, "counter", json!({ "n": 1 })).await;
    }
    store.damage.set(("bad".into(), Damage::Checkpoints)).unwrap();
    let all = api.post("/threads/search", json!({})).await;
    assert_eq!(texts(&all, "thread_id"), ["bad", "good"]);
    let bad = all.as_array().unwrap().iter().find(|thread| thread["thread_id"] == "bad").unwrap();
    assert_eq!(json!([bad["values"], bad["status"], bad["error"]["error"]]), json!([null, "error", "Unreadable"]));
    let wanted = api.post("/threads/search", json!({ "values": { "n": 6 } })).await;
    assert_eq!(texts(&wanted, "thread_id"), ["good"]);
}

#[tokio::test]
async fn damaged_runs_assistants_and_crons_are_left_out_of_lists() {
    let (api, store) = start().await;
    wait(&api, "t", "counter", json!({ "n": 1 })).await;
    let run = api.get("/threads/t/runs").await[0]["run_id"].as_str().unwrap().to_owned();
    wait(&api, "t", "counter", json!({ "n": 1 })).await;
    damage(&*store, "runs", &run).await;
    assert_eq!(api.get("/threads/t/runs").await.as_array().unwrap().len(), 1);

    let made = api.post("/assistants", json!({ "graph_id": "counter", "name": "mine" })).await;
    damage(&*store, "assistants", made["assistant_id"].as_str().unwrap()).await;
    let default = api.post("/assistants/search", json!({ "graph_id": "slow" })).await;
    damage(&*store, "assistants", default[0]["assistant_id"].as_str().unwrap()).await;
    assert_eq!(api.post("/assistants/count", json!({})).await, 6);

    let cron = json!({ "assistant_id": "counter", "schedule": "0 0 1 1 *", "input": {} });
    let crons = [api.post("/runs/crons", cron.clone()).await, api.post("/runs/crons", cron).await];
    damage(&*store, "crons", crons[0]["cron_id"].as_str().unwrap()).await;
    assert_eq!(api.post("/runs/crons/count", json!({})).await, 1);

    // Another server on the store starts all the same.
    let again = Api::start_with(Options::default(), store).await;
    assert_eq!(again.post("/assistants/count", json!({})).await, 6);
    assert_eq!(wait(&again, "t", "counter", json!({ "n": 1 })).await["n"], 18);
    assert_eq!(again.status(Method::DELETE, "/threads/t", None).await, 204);
}

#[tokio::test]
async fn a_server_that_starts_goes_on_with_the_runs_beside_damaged_records() {
    let (store, stop) = (Arc::new(MemoryCheckpointer::new()), CancellationToken::new());
    stop.cancel();
    let stopped = Api::start_with(Options::default().stop_with(stop), store.clone()).await;
    let mut runs = vec![];
    for thread in ["run", "run", "mark", "thread", "other"] {
        let body = json!({ "assistant_id": "counter", "input": { "n": 1 }, "if_not_exists": "create" });
        let run = stopped.post(&format!("/threads/{thread}/runs"), body).await;
        runs.push((thread, run["run_id"].as_str().unwrap().to_owned()));
    }
    damage(&*store, "runs", &runs[0].1).await;
    damage(&*store, "open", &runs[2].1).await;
    damage(&*store, "threads", "thread").await;
    let api = Api::start_with(Options::default(), store.clone()).await;
    for at in [1, 2, 4] {
        let (thread, run) = &runs[at];
        api.until(&format!("/threads/{thread}/runs/{run}"), |run| run["status"] == "success").await;
    }
    assert_eq!(api.get("/threads/run/state").await["values"]["n"], 6, "the damaged run did not count");
    assert_eq!(api.get("/threads/run").await["status"], "idle");
}

#[tokio::test]
async fn a_thread_whose_record_is_damaged_is_an_item_of_the_inbox_and_hides_no_other() {
    let (api, store) = start().await;
    for thread in ["bad", "good"] {
        wait(&api, thread, "approval", json!({ "request": "x" })).await;
    }
    damage(&*store, "threads", "bad").await;
    let inbox = api.get("/inbox").await;
    let items = inbox["items"].as_array().unwrap();
    let mut kinds: Vec<_> = items.iter().map(|item| (item["thread"].as_str().unwrap(), item["kind"].clone())).collect();
    kinds.sort_by_key(|(thread, _)| *thread);
    assert_eq!(kinds, [("bad", json!("damaged")), ("good", json!("question"))]);
    let bad = items.iter().find(|item| item["thread"] == "bad").unwrap();
    assert_eq!((&bad["reason"], &bad["question"]), (&json!("the server's record of it cannot be read"), &Value::Null));
    assert_eq!(api.get("/health").await["questions"]["open"], 2);
}

#[tokio::test]
async fn runs_of_a_status_are_cancelled_without_reading_all_requests_at_once() {
    // A store that does not return more records at once than a page has.
    let store = WatchedStore::new(MemoryCheckpointer::new(), 0);
    let api = Api::start_with(Options::default(), store.clone()).await;
    let later = json!({ "assistant_id": "counter", "input": { "n": 1 }, "after_seconds": 3600 });
    for _ in 0..3 {
        api.post("/runs/batch", json!(vec![later.clone(); 50])).await;
    }
    assert_eq!(api.status(Method::POST, "/runs/cancel", Some(json!({ "status": "running" }))).await, 404);
    assert_eq!(api.status(Method::POST, "/runs/cancel", Some(json!({ "status": "pending" }))).await, 204);
    assert_eq!(api.status(Method::POST, "/runs/cancel", Some(json!({ "status": "all" }))).await, 404);
}
