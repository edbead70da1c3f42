//! What a person who runs a server sees: health, metrics, request ids, and stores that other releases have written.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, ItemKey, ItemWrite, MemoryCheckpointer};
use superstep_server::Options;

use crate::api::{Api, Process, program};
use crate::watched_store::WatchedStore;

#[tokio::test]
async fn only_a_check_of_the_store_shows_that_it_is_broken() {
    let api = Api::start_with(Options::default(), WatchedStore::broken()).await;
    assert_eq!(api.get("/ok").await, json!({ "ok": true }));
    assert_eq!(api.get("/ok?check_db=0").await, json!({ "ok": true }));
    let response = api.send(Method::GET, "/ok?check_db=1", None).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    let detail: Value = response.json().await.unwrap();
    let detail = detail["detail"].as_str().unwrap();
    assert!(detail.starts_with("the store cannot be read: ") && detail.contains("the disk is gone"), "{detail}");
    assert_eq!(Api::start().await.get("/ok?check_db=1").await, json!({ "ok": true }));
}

/// Returns the write of an item as it is in a store.
fn item(namespace: &str, key: &str, value: &Value) -> ItemWrite {
    ItemWrite::put(ItemKey::new(format!("superstep.server.{namespace}"), key), value.to_string())
}

/// Returns a store with a thread and its run as the first release wrote them: records had no places in lists, and fewer fields.
async fn old_store(version: &Value) -> Arc<MemoryCheckpointer> {
    let store = Arc::new(MemoryCheckpointer::new());
    let run = "01990000-0000-7000-8000-000000000001";
    let assistant = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    let mut records = [
        (
            "threads",
            "old".to_owned(),
            json!({
                "thread": "old", "graph": "counter", "metadata": { "by": "v1" }, "created_at": 1000, "updated_at": 2000,
                "queue": [], "error": null, "is_temporary": false,
            }),
        ),
        (
            "runs",
            format!("old/{run}"),
            json!({
                "run": run, "thread": "old", "graph": "counter", "assistant": assistant, "metadata": {},
                "status": "success", "request": { "assistant_id": "counter" }, "multitask_strategy": "enqueue",
                "created_at": 1000, "updated_at": 2000, "error": null,
            }),
        ),
    ]
    .map(|(namespace, key, record)| (namespace, key, json!({ "record": record })));
    records.iter_mut().filter(|_| !version.is_null()).for_each(|(.., record)| record["version"] = version.clone());
    let writes = records.iter().map(|(namespace, key, record)| item(namespace, key, record)).collect();
    store.write_items(writes).await.unwrap();
    store
}

#[rstest]
#[case::without_a_version(Value::Null)]
#[case::version_1(json!(1))]
#[tokio::test]
async fn a_store_of_the_first_release_is_read_and_its_threads_get_their_places_in_lists(#[case] version: Value) {
    let api = Api::start_with(Options::default(), old_store(&version).await).await;
    assert_eq!(api.get("/threads/old").await["metadata"], json!({ "by": "v1" }));
    assert_eq!(api.get("/threads/old/runs").await[0]["status"], "success");
    let listed = api.post("/threads/search", json!({ "metadata": { "by": "v1" } })).await;
    assert_eq!(listed[0]["thread_id"], "old");
    let path = "/threads/old/runs/wait";
    assert_eq!(api.post(path, json!({ "assistant_id": "counter", "input": { "n": 1 } })).await["n"], 6);
    assert_eq!(api.get("/threads/old/runs").await.as_array().unwrap().len(), 2);
}

#[rstest]
#[case::form_that_is_known(Value::Null)]
#[case::form_that_is_not(json!("elsewhere"))]
#[tokio::test]
async fn what_a_later_release_wrote_is_refused_with_the_way_out(#[case] queue: Value) {
    let store = old_store(&json!(2)).await;
    if !queue.is_null() {
        let record = json!({ "version": 2, "record": { "thread": "old", "queue": queue } });
        store.write_items(vec![item("threads", "old", &record)]).await.unwrap();
    }
    let api = Api::start_with(Options::default(), store).await;
    let response = api.send(Method::GET, "/threads/old", None).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let detail: Value = response.json().await.unwrap();
    let detail = detail["detail"].as_str().unwrap();
    let expected = "a later release wrote it, as version 2, and this one knows version 1: update the server";
    assert!(detail.contains("`superstep.server.threads`") && detail.contains(expected), "{detail}");
}

#[rstest]
#[case::own("call-1.a:b", Some("call-1.a:b"))]
#[case::odd("a\tb", None)]
#[case::long(&"a".repeat(200), None)]
#[tokio::test]
async fn an_answer_has_the_id_of_its_request_or_a_new_one(#[case] sent: &str, #[case] expected: Option<&str>) {
    let api = Api::start().await;
    let answers = ["/ok", "/threads/none", "/no/route"]
        .map(|path| api.client.get(format!("{}{path}", api.address)).header("x-request-id", sent).send());
    for answer in answers {
        let answer = answer.await.unwrap();
        let id = answer.headers()["x-request-id"].to_str().unwrap();
        match expected {
            Some(expected) => assert_eq!(id, expected),
            None => assert_eq!(uuid::Uuid::parse_str(id).unwrap().get_version_num(), 7),
        }
    }
}

#[tokio::test]
async fn a_log_has_requests_by_their_ids_and_nothing_that_they_carry() {
    let (place, log) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let keys = place.path().join("keys.json");
    let added = program().args(["keys", "add", "phone", "--role", "admin", "--api-keys"]).arg(&keys).output().unwrap();
    let key = String::from_utf8(added.stdout).unwrap().lines().last().unwrap().trim().to_owned();
    let mut command = program();
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--log", "--log-format", "json"]);
    command.arg("--api-keys").arg(&keys).stderr(log.reopen().unwrap());
    let (_server, api) = Process::of(&mut command);
    let send = |path: &str, id: &str, body: Value| {
        let request = api.client.post(format!("{}{path}", api.address)).header("x-api-key", &key);
        request.header("x-request-id", id).json(&body).send()
    };
    let body = json!({ "assistant_id": "fails", "input": { "reason": "payload-1" }, "if_not_exists": "create" });
    send("/threads/t/runs/wait?secret=payload-2", "call-1", body).await.unwrap().text().await.unwrap();
    send("/threads/t/runs/none", "call-2", json!({})).await.unwrap();
    let lines = || {
        let text = std::fs::read_to_string(log.path()).unwrap();
        (text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>(), text)
    };
    let of = |lines: &[Value], id: &str| {
        let is_answer = |line: &&Value| line["message"] == "a request was answered" && line["spans"][0]["id"] == id;
        lines.iter().find(is_answer).map(|line| line["spans"][0].clone())
    };
    let (lines, text) = loop {
        let (lines, text) = lines();
        if of(&lines, "call-2").is_some() {
            break (lines, text);
        }
        tokio::task::yield_now().await;
    };
    let answered = of(&lines, "call-1").unwrap();
    assert_eq!(
        (&answered["name"], &answered["method"], &answered["route"], &answered["key"], &answered["status"]),
        (&json!("request"), &json!("POST"), &json!("/threads/{thread}/runs/wait"), &json!("phone"), &json!(200))
    );
    assert!(answered["milliseconds"].is_f64(), "{answered}");
    assert_eq!(of(&lines, "call-2").unwrap()["status"], 405);
    for secret in [key.as_str(), "payload-2", "none"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}
