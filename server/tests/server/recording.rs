//! A run as one file that a browser shows without a server.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};
use superstep_server::{Options, recorded_page};

use crate::api::{Api, all_graphs};

/// Runs a graph on a thread, and returns the page of the thread.
async fn page_of(graph: &str, thread: &str, input: Value) -> String {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_with(Options::default(), Arc::clone(&store)).await;
    let path = api.client.post(format!("{}/threads", api.address)).json(&json!({ "thread_id": thread }));
    assert!(path.send().await.unwrap().status().is_success());
    let run = json!({ "assistant_id": graph, "thread_id": thread, "input": input });
    api.post(
        &format!("/threads/{}/runs/wait", thread.replace(' ', "%20").replace('<', "%3C").replace('/', "%2F")),
        run,
    )
    .await;
    recorded_page(all_graphs().unwrap(), store, thread).await.unwrap()
}

/// Returns the run in a page.
fn recording(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"recording\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[tokio::test]
async fn a_page_has_what_it_asks_a_server_for() {
    let run = recording(&page_of("counter", "first", json!({})).await);
    let answers = run["answers"].as_object().unwrap();
    assert_eq!(answers["GET /threads/first/status"]["status"], "finished");
    let checkpoints = answers["GET /threads/first/checkpoints?limit=50"]["checkpoints"].as_array().unwrap();
    assert!(checkpoints.len() > 5, "{checkpoints:?}");
    for entry in checkpoints {
        let id = entry["checkpoint"].to_string();
        match entry["parent"].as_u64() {
            Some(parent) => assert!(answers.contains_key(&format!("GET /threads/first/diff?from={parent}&to={id}"))),
            None => assert!(run["states"][&id].is_object(), "{run}"),
        }
        for task in entry["tasks"].as_array().unwrap() {
            let task = task["id"].as_str().unwrap();
            assert!(answers.contains_key(&format!("GET /threads/first/checkpoints/{id}/tasks/{task}")), "{task}");
        }
    }
    assert!(answers["GET /assistants/0/graph?xray=true"]["nodes"].as_array().unwrap().len() > 2);
}

#[tokio::test]
async fn a_page_has_the_tasks_of_subgraphs_too() {
    let run = recording(&page_of("nested", "first", json!({})).await);
    let inside = |path: &&String| path.contains("/tasks/") && path.contains("within=");
    assert!(run["answers"].as_object().unwrap().keys().any(|path| inside(&path)), "{run}");
}

#[tokio::test]
async fn a_page_has_the_open_questions() {
    let run = recording(&page_of("approval", "first", json!({ "request": "tea" })).await);
    let items = run["answers"]["GET /threads/first/inbox"]["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0]["question"]["value"]["proposal"], "do tea");
}

#[tokio::test]
async fn texts_of_a_run_are_no_part_of_the_page() {
    let evil = "</script><script>alert(1)</script>@@TITLE@@@@RECORDING@@<!--";
    let page = page_of("approval", "a </title><b>/c", json!({ "request": evil })).await;
    assert!(!page.contains("<script>alert") && !page.contains("</title><b>"), "a text has become a part of the page");
    assert_eq!(page.matches("</script>").count(), 2);
    let run = recording(&page);
    assert_eq!(run["thread"], "a </title><b>/c");
    assert!(run.to_string().contains("<script>alert(1)</script>@@TITLE@@@@RECORDING@@<!--"));
}

#[tokio::test]
async fn a_page_loads_nothing_and_is_small() {
    let page = page_of("counter", "first", json!({})).await;
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"));
    assert!(!page.contains("<link") && !page.contains(" src=\"http") && !page.contains("unsafe-inline"));
    assert!(page.len() < 1 << 20, "{}", page.len());
}

#[tokio::test]
async fn there_is_no_page_of_a_thread_that_is_not_there() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let error = recorded_page(all_graphs().unwrap(), store, "none").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no thread `none`");
}
