//! What a person who runs a server sees: health, metrics, request ids, and stores that other releases have written.

use std::ops::RangeInclusive;
use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{
    BoxFuture, CheckpointError, Checkpointer, Claim, Commit, Item, ItemKey, ItemScan, ItemWrite, Key, Lease,
    LeaseOwner, MemoryCheckpointer, Order, Receipt, Record, ThreadHead, ThreadId,
};
use superstep_server::Options;

use crate::api::Api;

type Reading<'a, T> = BoxFuture<'a, Result<T, CheckpointError>>;

/// A store whose items cannot be read.
#[derive(Debug, Default)]
struct BrokenStore(MemoryCheckpointer);

impl Checkpointer for BrokenStore {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Reading<'_, Lease> {
        self.0.claim(thread, claim)
    }

    fn commit(&self, commit: Commit) -> Receipt {
        self.0.commit(commit)
    }

    fn head(&self, thread: &ThreadId) -> Reading<'_, Option<ThreadHead>> {
        self.0.head(thread)
    }

    fn get(&self, thread: &ThreadId, keys: Vec<Key>) -> Reading<'_, Vec<Option<Vec<u8>>>> {
        self.0.get(thread, keys)
    }

    fn scan(
        &self,
        thread: &ThreadId,
        range: RangeInclusive<Key>,
        order: Order,
        limit: usize,
    ) -> Reading<'_, Vec<Record>> {
        self.0.scan(thread, range, order, limit)
    }

    fn threads(&self, after: Option<&ThreadId>, limit: usize) -> Reading<'_, Vec<ThreadId>> {
        self.0.threads(after, limit)
    }

    fn delete_thread(&self, lease: &Lease) -> Reading<'_, ()> {
        self.0.delete_thread(lease)
    }

    fn owner(&self, thread: &ThreadId) -> Reading<'_, Option<Arc<LeaseOwner>>> {
        self.0.owner(thread)
    }

    fn scan_items<'a>(&'a self, _: &'a ItemScan) -> Reading<'a, Vec<Item>> {
        let reason = "the disk is gone";
        Box::pin(std::future::ready(Err(CheckpointError::Poisoned { reason: reason.into() })))
    }
}

#[tokio::test]
async fn only_a_check_of_the_store_shows_that_it_is_broken() {
    let api = Api::start_with(Options::default(), Arc::new(BrokenStore::default())).await;
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
