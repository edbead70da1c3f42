//! Long-term memory over HTTP: the requests of LangGraph's SDKs, and the store that nodes see.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{BoxFuture, Checkpointer, MemoryCheckpointer};
use superstep::graph::Graphs;
use superstep::memory::{CheckpointerStore, Embed, EmbedError, Store, StoreRead, StoreWrite};
use superstep::prelude::*;

use crate::api::Api;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Visit {
    name: String,
    visits: u64,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Greet,
}

/// Counts the visits of a name in the store.
async fn greet(visit: Arc<Visit>, ctx: Ctx) -> Result<VisitUpdate, NodeError> {
    let known = ctx.store().get(["visits"], &visit.name).await?;
    let visits = known.and_then(|item| item.value["count"].as_u64()).unwrap_or_default() + 1;
    ctx.store().put(StoreWrite::new(["visits"], &visit.name, json!({ "count": visits }))).await?;
    Ok(Visit::update().visits(visits))
}

fn graphs() -> Graphs {
    let graph = StateGraph::new().add_node(Step::Greet, greet).add_sequence([Step::Greet]).compile().unwrap();
    Graphs::new().with(graph.named("greeter"))
}

impl Api {
    async fn serve(options: superstep_server::Options, store: Arc<dyn Checkpointer>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = options.router(graphs(), store);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { client: reqwest::Client::new(), address }
    }

    async fn greeter() -> Self {
        Self::serve(superstep_server::Options::default(), Arc::new(MemoryCheckpointer::new())).await
    }

    async fn put(&self, body: Value) {
        let response = self.send(Method::PUT, "/store/items", Some(body)).await;
        assert_eq!(response.status(), StatusCode::NO_CONTENT);
        assert_eq!(response.text().await.unwrap(), "");
    }

    async fn found(&self, body: Value) -> Vec<String> {
        let answer = self.post("/store/items/search", body).await;
        let items = answer["items"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        items.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn an_item_is_written_read_and_deleted() {
    let api = Api::greeter().await;
    let path = "/store/items?namespace=users.ada&key=prefs";
    assert_eq!(api.send(Method::GET, path, None).await.status(), StatusCode::OK);
    assert_eq!(api.get(path).await, Value::Null);
    let body = json!({ "namespace": ["users", "ada"], "key": "prefs", "value": { "units": "metric" }, "index": null, "ttl": null });
    api.put(body).await;
    let item = api.get(path).await;
    let created = item["created_at"].as_str().unwrap().to_owned();
    assert!(created.ends_with("+00:00") && created.len() == 32, "{created}");
    assert_eq!(
        item,
        json!({ "namespace": ["users", "ada"], "key": "prefs", "value": { "units": "metric" },
            "created_at": created, "updated_at": created })
    );
    for _ in 0..2 {
        let body = json!({ "namespace": ["users", "ada"], "key": "prefs" });
        let response = api.send(Method::DELETE, "/store/items", Some(body)).await;
        assert_eq!(response.status(), StatusCode::NO_CONTENT);
        assert_eq!(api.get(path).await, Value::Null);
    }
}

#[tokio::test]
async fn items_are_searched_and_namespaces_listed() {
    let api = Api::greeter().await;
    for n in 0..12 {
        let namespace = json!(["notes", if n % 2 == 0 { "even" } else { "odd" }]);
        let value = json!({ "n": n, "text": if n == 7 { "Tides and moons" } else { "moons" } });
        api.put(json!({ "namespace": namespace, "key": format!("{n:02}"), "value": value })).await;
    }
    api.put(json!({ "namespace": ["notesx"], "key": "other", "value": {} })).await;
    let search = |more: Value| {
        let mut body = json!({ "namespace_prefix": ["notes"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    assert_eq!(api.found(search(json!({}))).await.len(), 10);
    assert_eq!(api.found(search(json!({ "limit": 2, "offset": 11 }))).await, ["11"]);
    assert_eq!(api.found(search(json!({ "filter": { "n": { "$gte": 10 } } }))).await, ["10", "11"]);
    assert_eq!(api.found(search(json!({ "filter": { "n": 3 }, "refresh_ttl": false }))).await, ["03"]);
    assert_eq!(api.found(search(json!({ "query": "moons TIDES" }))).await, ["07"]);
    assert_eq!(api.found(json!({ "limit": 100 })).await.len(), 13);
    let all = api.post("/store/items/search", search(json!({ "query": "tides" }))).await;
    assert_eq!((&all["items"][0]["score"], &all["items"][0]["namespace"]), (&json!(1.0), &json!(["notes", "odd"])));
    let listed = api.post("/store/namespaces", json!({})).await;
    assert_eq!(listed, json!({ "namespaces": [["notes", "even"], ["notes", "odd"], ["notesx"]] }));
    let listed = api.post("/store/namespaces", json!({ "prefix": ["notes"], "max_depth": 1 })).await;
    assert_eq!(listed, json!({ "namespaces": [["notes"]] }));
    let listed = api.post("/store/namespaces", json!({ "suffix": ["odd"], "limit": 1, "offset": 0 })).await;
    assert_eq!(listed, json!({ "namespaces": [["notes", "odd"]] }));
}

#[rstest]
#[case::empty_namespace(Method::PUT, "", json!({ "namespace": [], "key": "k", "value": {} }), 400, "empty namespace")]
#[case::empty_namespace_of_a_read(Method::GET, "?namespace=&key=k", Value::Null, 400, "empty namespace")]
#[case::empty_namespace_of_a_deletion(Method::DELETE, "", json!({ "namespace": [], "key": "k" }), 400, "empty namespace")]
#[case::dot(Method::PUT, "", json!({ "namespace": ["a.b"], "key": "k", "value": {} }), 422, "the label `a.b` of a namespace contains a dot")]
#[case::dot_in_a_search(Method::POST, "/search", json!({ "namespace_prefix": ["a.b"] }), 422, "contains a dot")]
#[case::empty_label(Method::PUT, "", json!({ "namespace": ["a", ""], "key": "k", "value": {} }), 422, "a label of a namespace is empty")]
#[case::empty_label_in_a_read(
    Method::GET,
    "?namespace=a..b&key=k",
    Value::Null,
    422,
    "a label of a namespace is empty"
)]
#[case::no_object(Method::PUT, "", json!({ "namespace": ["a"], "key": "k", "value": [1] }), 422, "is a list, not an object")]
#[case::no_value(Method::PUT, "", json!({ "namespace": ["a"], "key": "k" }), 422, "missing field `value`")]
#[case::no_key(Method::GET, "?namespace=a", Value::Null, 422, "missing field `key`")]
#[case::no_lifetime(Method::PUT, "", json!({ "namespace": ["a"], "key": "k", "value": {}, "ttl": 0 }), 422, "a lifetime of 0 minutes")]
#[case::no_index(Method::PUT, "", json!({ "namespace": ["a"], "key": "k", "value": {}, "index": "title" }), 422, "`index` is no list of fields")]
#[case::unknown_operator(Method::POST, "/search", json!({ "filter": { "n": { "$in": [1] } } }), 422, "no operator `$in`")]
#[case::no_filter(Method::POST, "/search", json!({ "filter": 1 }), 422, "a filter is an object")]
#[case::negative_limit(Method::POST, "/search", json!({ "limit": -1 }), 422, "limit")]
#[case::long_name(Method::PUT, "", json!({ "namespace": ["a"], "key": "k".repeat(3000), "value": {} }), 422, "takes 3003 bytes")]
#[tokio::test]
async fn a_wrong_request_is_refused_with_a_reason(
    #[case] method: Method,
    #[case] path: &str,
    #[case] body: Value,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let api = Api::greeter().await;
    let body = Some(body).filter(|body| !body.is_null());
    let response = api.send(method, &format!("/store/items{path}"), body).await;
    assert_eq!(response.status().as_u16(), status);
    let answer: Value = response.json().await.unwrap();
    assert!(answer["detail"].as_str().unwrap().contains(reason), "{answer}");
}

/// Counts letters.
struct Letters;

impl Embed for Letters {
    fn name(&self) -> &str {
        "letters"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        let count = |text: &String| ('a'..='z').map(|letter| text.matches(letter).count() as f32).collect();
        Box::pin(async move { Ok(texts.iter().map(count).collect()) })
    }
}

/// The store that a server is given.
#[derive(Clone, Copy, Debug)]
enum Given {
    Nothing,
    ByTheOptions,
}

#[rstest]
#[tokio::test]
async fn clients_and_nodes_use_the_same_store(#[values(Given::Nothing, Given::ByTheOptions)] given: Given) {
    let threads: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let elsewhere: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let options = superstep_server::Options::default();
    let (options, place) = match given {
        Given::Nothing => (options, Arc::clone(&threads)),
        Given::ByTheOptions => {
            let store = CheckpointerStore::new(Arc::clone(&elsewhere)).with_embed(Arc::new(Letters));
            (options.memory(Arc::new(store)), elsewhere)
        }
    };
    let api = Api::serve(options, threads).await;
    api.put(json!({ "namespace": ["visits"], "key": "ada", "value": { "count": 41 } })).await;
    let values = api.post("/runs/wait", json!({ "assistant_id": "greeter", "input": { "name": "ada" } })).await;
    assert_eq!(values["visits"], 42, "{values}");
    assert_eq!(api.get("/store/items?namespace=visits&key=ada").await["value"], json!({ "count": 42 }));
    let store = CheckpointerStore::new(place);
    let item = store.get(StoreRead::new(["visits"], "ada")).await.unwrap().unwrap();
    assert_eq!(item.value, json!({ "count": 42 }));
}

#[tokio::test]
async fn a_store_with_an_embedding_searches_by_meaning() {
    let threads: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let store = CheckpointerStore::new(Arc::clone(&threads)).with_embed(Arc::new(Letters)).index_fields(["text"]);
    let api = Api::serve(superstep_server::Options::default().memory(Arc::new(store)), threads).await;
    for text in ["tea", "eat", "moon"] {
        api.put(json!({ "namespace": ["notes"], "key": text, "value": { "text": text } })).await;
    }
    api.put(json!({ "namespace": ["notes"], "key": "none", "value": { "text": "ate" }, "index": false })).await;
    assert_eq!(api.found(json!({ "namespace_prefix": ["notes"], "query": "ate" })).await, ["eat", "tea", "moon"]);
}
