//! Tokens and cost: of tasks, of threads, and of all that the store has run.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer, SledCheckpointer};
use superstep::graph::Graphs;
use superstep_server::Options;

use crate::api::Api;
use crate::article;

async fn start_on(store: Arc<dyn Checkpointer>) -> Api {
    let graphs = Graphs::new().with(article::article().unwrap().named("article"));
    Api::start_graphs(graphs, Options::default(), store).await
}

async fn start() -> Api {
    start_on(Arc::new(MemoryCheckpointer::new())).await
}

/// Runs an article of two chapters, which costs 0.0125 + 0.004 + 0.008 dollars, and a review without a price.
async fn write(api: &Api, thread: &str) {
    let input = json!({ "topic": "tides", "chapters": 2 });
    let body = json!({ "assistant_id": "article", "input": input, "if_not_exists": "create" });
    api.post(&format!("/threads/{thread}/runs/wait"), body).await;
}

const COST: u64 = 12_500 + 4_000 + 8_000;

fn tokens(input: u64, output: u64, cache_read: u64) -> Value {
    json!({ "input": input, "output": output, "cache_read": cache_read, "cache_write": 0 })
}

fn named<'a>(list: &'a Value, field: &str, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|part| part[field] == name).unwrap_or_else(|| panic!("{name}: {list}"))
}

#[tokio::test]
async fn what_nodes_report_adds_up_by_graph_task_role_and_day() {
    let api = start().await;
    assert_eq!(api.get("/spend").await["total"], json!({ "cost": 0, "tokens": tokens(0, 0, 0), "unpriced": 0 }));
    write(&api, "one").await;
    write(&api, "two").await;
    let spend = api.get("/spend").await;
    let all = json!({ "cost": 2 * COST, "tokens": tokens(8_200, 660, 200), "unpriced": 4_060 });
    assert_eq!(spend["total"], all);
    assert_eq!(named(&spend["by_graph"], "graph", "article")["cost"], 2 * COST);
    let roles = spend["by_role"].as_array().unwrap();
    let roles: Vec<_> =
        roles.iter().map(|part| (part["role"].as_str().unwrap(), part["cost"].as_u64().unwrap())).collect();
    assert_eq!(roles, [("outline", 25_000), ("writer", 24_000), ("reviewer", 0)]);
    let tasks = spend["by_task"].as_array().unwrap();
    let tasks: Vec<_> =
        tasks.iter().filter(|part| part["thread"] == "one").map(|part| part["task"].as_str().unwrap()).collect();
    assert_eq!(tasks, ["an outline about tides", "chapter 2", "chapter 1", "the article"]);
    assert_eq!(spend["by_day"].as_array().unwrap().len(), 1, "{spend}");
}

#[tokio::test]
async fn spend_has_a_beginning() {
    let api = start().await;
    write(&api, "one").await;
    assert_eq!(api.get("/spend?since=2020-01-01T00:00:00Z").await["total"]["cost"], COST);
    assert_eq!(api.get("/spend?since=9000-01-01T00:00:00.000Z").await["total"]["cost"], 0);
    let wrong = api.send(Method::GET, "/spend?since=yesterday", None).await;
    assert_eq!(wrong.status(), 422);
    let shown: Value = wrong.json().await.unwrap();
    assert!(shown["detail"].as_str().unwrap().contains("`yesterday`"), "{shown}");
}

#[tokio::test]
async fn a_thread_and_its_tasks_have_their_cost_and_their_words() {
    let api = start().await;
    write(&api, "one").await;
    let status = api.get("/threads/one/status").await;
    assert_eq!((&status["cost"], &status["tokens"]), (&json!(COST), &tokens(4_100, 330, 100)));
    let page = api.get("/threads/one/checkpoints").await;
    let lists = page["checkpoints"].as_array().unwrap().iter().rev();
    let tasks: Vec<Value> = lists.flat_map(|listed| listed["tasks"].as_array().unwrap().clone()).collect();
    let words: Vec<_> =
        tasks.iter().map(|task| [&task["node"], &task["label"], &task["summary"], &task["cost"]]).collect();
    let sentence = json!("The chapter has one sentence.");
    assert_eq!(
        json!(words),
        json!([
            ["__start__", null, null, null],
            ["outline", "an outline about tides", null, 12_500],
            ["chapter", "chapter 1", sentence, 4_000],
            ["chapter", "chapter 2", sentence, 8_000],
            ["review", null, null, 0],
        ])
    );
    let review = tasks.last().unwrap();
    assert_eq!(review["tokens"], tokens(2_000, 30, 0), "the tasks of a subgraph count for the one around it");

    let (at, id) = (&page["checkpoints"][1]["checkpoint"], review["id"].as_str().unwrap());
    let inside = api.get(&format!("/threads/one/checkpoints?within={at}:{id}")).await;
    let judge =
        &inside["checkpoints"].as_array().unwrap().iter().find_map(|listed| {
            listed["tasks"].as_array().unwrap().iter().find(|task| task["node"] == "judge").cloned()
        });
    let judge = judge.as_ref().unwrap();
    assert_eq!((&judge["summary"], &judge["tokens"]), (&json!("It is fine."), &tokens(2_000, 30, 0)));

    let detail = api.get(&format!("/threads/one/checkpoints/{at}/tasks/{id}")).await;
    assert_eq!((&detail["cost"], &detail["tokens"]), (&json!(0), &tokens(2_000, 30, 0)));
    let whole = api.get(&format!("/threads/one/checkpoints/{at}")).await;
    assert_eq!(whole["tasks"][0]["tokens"], tokens(2_000, 30, 0));
}

#[tokio::test]
async fn what_deleted_threads_have_spent_is_kept_without_their_tasks() {
    let store = Arc::new(MemoryCheckpointer::new());
    let api = start_on(store.clone()).await;
    write(&api, "one").await;
    write(&api, "two").await;
    assert_eq!(api.status(Method::DELETE, "/threads/one", None).await, 204);
    let body = json!({ "assistant_id": "article", "input": { "topic": "tides", "chapters": 2 } });
    api.post("/runs/wait", body).await; // in a thread of its own, which is deleted
    let spend = api.until("/spend", |spend| spend["total"]["cost"] == 3 * COST).await;
    assert_eq!(named(&spend["by_graph"], "graph", "article")["cost"], 3 * COST);
    let tasks = spend["by_task"].as_array().unwrap();
    assert!(tasks.len() == 4 && tasks.iter().all(|part| part["thread"] == "two"), "{spend}");
    write(&api, "one").await;
    assert_eq!(api.get("/threads/one/status").await["cost"], COST, "a thread of that name begins anew");
}

#[tokio::test]
async fn a_server_that_is_started_again_knows_what_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SledCheckpointer::open(folder.path().join("store")).unwrap());
    write(&start_on(store.clone()).await, "one").await;
    let api = start_on(store).await;
    write(&api, "one").await;
    assert_eq!(api.get("/threads/one/status").await["cost"], 2 * COST);
    assert_eq!(api.get("/spend").await["total"]["cost"], 2 * COST);
}
