//! The past of a thread, taken apart by a client: checkpoints with their tasks, values level by level, tasks with their journals,
//! differences, and comparisons with the graph as it is now.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};
use superstep::graph::Graphs;
use superstep_server::Options;

use crate::api::Api;

mod checkpoints;
mod comparisons;
mod graphs;
mod values;

/// Starts a server over graphs, on a store.
async fn serve(graphs: Graphs, store: &Arc<MemoryCheckpointer>) -> Api {
    let store: Arc<dyn Checkpointer> = store.clone();
    Api::start_graphs(graphs, Options::default(), store).await
}

/// Starts a server, and runs the thread `t` of `work` until its question.
async fn with_work() -> (Api, Arc<MemoryCheckpointer>) {
    let store = Arc::new(MemoryCheckpointer::new());
    let api = serve(graphs::work("found"), &store).await;
    let input = json!({ "topic": "tides", "token": graphs::SECRET });
    let body = json!({ "assistant_id": "work", "input": input, "if_not_exists": "create" });
    assert_eq!(api.post("/threads/t/runs/wait", body).await["text"], "found 6");
    (api, store)
}

/// Starts a server, and runs the thread `h` of `heap` over data.
async fn with_heap(data: Value) -> Api {
    let api = serve(graphs::heap(false), &Arc::new(MemoryCheckpointer::new())).await;
    let body = json!({ "assistant_id": "heap", "input": { "data": data }, "if_not_exists": "create" });
    assert_eq!(api.post("/threads/h/runs/wait", body).await["count"], 1);
    api
}

/// Sends a request that is refused, and returns the status and the reason.
async fn refused(api: &Api, method: Method, path: &str) -> (StatusCode, String) {
    let answer = api.send(method, path, None).await;
    let status = answer.status();
    let detail: Value = answer.json().await.unwrap();
    (status, detail["detail"].as_str().unwrap_or_default().to_owned())
}

async fn checkpoints(api: &Api, query: &str) -> Vec<Value> {
    let page = api.get(&format!("/threads/t/checkpoints{query}")).await;
    page["checkpoints"].as_array().unwrap_or_else(|| panic!("{page}")).clone()
}

/// Returns the first checkpoint whose tasks are of a node, and its number.
async fn before(api: &Api, node: &str) -> (u64, Value) {
    let found = checkpoints(api, "").await.into_iter().find(|found| found["next"][0] == node).unwrap();
    (found["checkpoint"].as_u64().unwrap(), found)
}
