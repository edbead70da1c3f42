//! Lists of threads: their order, their conditions, their pages, and what is extracted.

use std::sync::Arc;

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::checkpoint::{ItemKey, ItemScan, ItemWrite, MemoryCheckpointer};
use superstep_server::Options;

use crate::api::Api;

/// Makes the threads idle, asks, fails and unborn, in this order, and changes the first last.
async fn threads(api: &Api) {
    for (name, graph) in [("idle", "counter"), ("asks", "approval"), ("fails", "fails"), ("unborn", "")] {
        api.post("/threads", json!({ "thread_id": name, "metadata": { "of": { "name": name }, "all": true } })).await;
        if !graph.is_empty() {
            let input = json!({ "assistant_id": graph, "input": { "n": 1, "request": "x", "reason": "why" } });
            api.post(&format!("/threads/{name}/runs/wait"), input).await;
        }
        // The times of two threads are never the same.
        let before = superstep_base::time::now();
        while superstep_base::time::now() == before {}
    }
    let again = json!({ "assistant_id": "counter", "input": { "n": 5 } });
    api.post("/threads/idle/runs/wait", again).await;
}

async fn names(api: &Api, body: Value) -> Vec<String> {
    let found = api.post("/threads/search", body).await;
    found.as_array().unwrap().iter().map(|thread| thread["thread_id"].as_str().unwrap().to_owned()).collect()
}

#[rstest]
#[case::newest_first(json!({}), &["unborn", "fails", "asks", "idle"])]
#[case::oldest_first(json!({ "sort_order": "asc" }), &["idle", "asks", "fails", "unborn"])]
#[case::updated(json!({ "sort_by": "updated_at" }), &["idle", "unborn", "fails", "asks"])]
#[case::state_updated(json!({ "sort_by": "state_updated_at", "sort_order": "asc" }), &["asks", "fails", "unborn", "idle"])]
#[case::name(json!({ "sort_by": "thread_id", "sort_order": "asc" }), &["asks", "fails", "idle", "unborn"])]
#[case::status(json!({ "sort_by": "status", "sort_order": "asc" }), &["fails", "idle", "unborn", "asks"])]
#[case::interrupted(json!({ "status": "interrupted" }), &["asks"])]
#[case::failed(json!({ "status": "error" }), &["fails"])]
#[case::idle(json!({ "status": "idle" }), &["unborn", "idle"])]
#[case::metadata(json!({ "metadata": { "of": { "name": "asks" } } }), &["asks"])]
#[case::graph(json!({ "metadata": { "graph_id": "counter" } }), &["idle"])]
#[case::values(json!({ "values": { "n": 16 } }), &["idle"])]
#[case::ids(json!({ "ids": ["asks", "none", "idle"], "sort_by": "updated_at" }), &["idle", "asks"])]
#[case::part_of_a_name(json!({ "search": "IL" }), &["fails"])]
#[case::name_and_status(json!({ "search": "n", "status": "idle", "sort_by": "thread_id" }), &["unborn"])]
#[case::name_of_a_graph(json!({ "search": "s", "metadata": { "graph_id": "approval" } }), &["asks"])]
#[case::page(json!({ "limit": 2, "offset": 1 }), &["fails", "asks"])]
#[case::end(json!({ "limit": 2, "offset": 4 }), &[])]
#[tokio::test]
async fn threads_are_listed_in_order(#[case] body: Value, #[case] expected: &[&str]) {
    let api = Api::start().await;
    threads(&api).await;
    assert_eq!(names(&api, body.clone()).await, expected);
    if body.get("limit").is_none() {
        assert_eq!(api.post("/threads/count", body).await, expected.len());
    }
}

#[tokio::test]
async fn pages_say_where_the_next_begins() {
    let api = Api::start().await;
    threads(&api).await;
    let page = async |offset: usize| {
        let body = json!({ "limit": 3, "offset": offset, "select": ["thread_id"] });
        let answer = api.send(Method::POST, "/threads/search", Some(body)).await;
        let header = |name: &str| answer.headers().get(name).map(|text| text.to_str().unwrap().to_owned());
        let headers = (header("x-pagination-total"), header("x-pagination-next"));
        (headers, answer.json::<Value>().await.unwrap().as_array().unwrap().len())
    };
    assert_eq!(page(0).await, ((Some("4".into()), Some("3".into())), 3));
    assert_eq!(page(3).await, ((Some("4".into()), None), 1));
    let wrong = json!({ "sort_by": "size" });
    assert_eq!(api.status(Method::POST, "/threads/search", Some(wrong)).await, 422);
}

#[tokio::test]
async fn parts_of_threads_are_extracted() {
    let api = Api::start().await;
    threads(&api).await;
    let extract = json!({ "last": "values.trail[-1]", "name": "metadata.of.name", "none": "values.none" });
    let body = json!({ "ids": ["idle"], "extract": extract, "select": ["thread_id"] });
    let found = api.post("/threads/search", body).await;
    let extracted = json!({ "last": "step5", "name": "idle", "none": null });
    assert_eq!(found, json!([{ "thread_id": "idle", "extracted": extracted }]));
    let wrong = json!({ "extract": { "a": "values[last]" } });
    assert_eq!(api.status(Method::POST, "/threads/search", Some(wrong)).await, 422);
}

#[tokio::test]
async fn a_state_that_was_changed_without_a_run_has_its_place() {
    let api = Api::start().await;
    threads(&api).await;
    let update = json!({ "values": { "n": 1 }, "as_node": "step2" });
    api.post("/threads/idle/state", update).await;
    assert_eq!(names(&api, json!({ "status": "interrupted", "sort_by": "state_updated_at" })).await, ["idle", "asks"]);
    assert_eq!(api.status(Method::DELETE, "/threads/idle", None).await, 204);
    assert_eq!(names(&api, json!({})).await, ["unborn", "fails", "asks"]);
}

#[tokio::test]
async fn threads_that_have_no_places_yet_get_them() {
    let store = Arc::new(MemoryCheckpointer::new());
    threads(&Api::start_with(Options::default(), store.clone()).await).await;
    for namespace in ["superstep.server.orders", "superstep.server.marks"] {
        let places = store.scan_items(&ItemScan::of(namespace)).await.unwrap();
        let gone = places.into_iter().map(|(key, _): (ItemKey, _)| ItemWrite::delete(key));
        store.write_items(gone.collect()).await.unwrap();
    }
    let api = Api::start_with(Options::default(), store).await;
    assert_eq!(names(&api, json!({ "sort_by": "updated_at" })).await, ["idle", "unborn", "fails", "asks"]);
}
