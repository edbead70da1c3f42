//! Forks of threads, and threads as files.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{BoxFuture, MemoryCheckpointer};
use superstep_server::{ForkHook, ForkOrigin, KeyRole, Options, PreparedFork};

use crate::api::Api;
use crate::security::Locked;

/// Runs the graph that counts to five, and returns its checkpoints, the newest first.
async fn counted(api: &Api, thread: &str) -> Vec<Value> {
    let start = json!({ "assistant_id": "counter", "if_not_exists": "create", "input": {} });
    api.post(&format!("/threads/{thread}/runs/wait"), start).await;
    api.post(&format!("/threads/{thread}/history"), json!({ "limit": 100 })).await.as_array().unwrap().clone()
}

fn id(state: &Value) -> u64 {
    state["checkpoint_id"].as_str().unwrap().parse().unwrap()
}

async fn finish(api: &Api, thread: &str) -> Value {
    api.post(&format!("/threads/{thread}/runs/wait"), json!({ "assistant_id": "counter" })).await
}

#[tokio::test]
async fn a_fork_is_a_thread_of_its_own_that_continues_from_its_checkpoint() {
    let api = Api::start().await;
    let history = counted(&api, "first").await;
    let made = api.post("/threads/first/fork", json!({ "checkpoint": id(&history[2]), "thread": "second" })).await;
    assert_eq!((&made["thread"], &made["next"]), (&json!("second"), &history[2]["next"]));
    assert_eq!(api.get("/threads/second/state").await["values"], history[2]["values"]);
    assert_eq!(finish(&api, "second").await["n"], 5);
    assert_eq!(api.post("/threads/first/history", json!({ "limit": 100 })).await, json!(history));
    assert_eq!(api.get("/threads/second").await["metadata"]["graph_id"], "counter");
}

#[tokio::test]
async fn values_of_a_fork_are_written_as_those_of_a_node() {
    let api = Api::start().await;
    let history = counted(&api, "first").await;
    let fork = json!({ "checkpoint": id(&history[2]), "thread": "second", "values": { "n": 40 } });
    api.post("/threads/first/fork", fork).await;
    let before = history[2]["values"]["n"].as_u64().unwrap();
    assert_eq!(api.get("/threads/second/state").await["values"]["n"], before + 40);
}

#[tokio::test]
async fn a_fork_without_a_name_is_a_branch_of_the_same_thread_and_keeps_the_other() {
    let api = Api::start().await;
    let history = counted(&api, "first").await;
    let made = api.post("/threads/first/fork", json!({ "checkpoint": id(&history[3]) })).await;
    assert_eq!((&made["thread"], &made["next"]), (&json!("first"), &history[3]["next"]));
    let now = api.post("/threads/first/history", json!({ "limit": 100 })).await;
    assert_eq!(now[0]["values"], history[3]["values"]);
    assert_eq!(now.as_array().unwrap().len(), history.len() + 1);
    assert_eq!(finish(&api, "first").await["n"], 5);
}

#[rstest]
#[case::as_it_was(json!({}))]
#[case::with_values(json!({ "values": { "n": 40 } }))]
#[case::in_the_same_thread(json!({ "thread": null }))]
#[tokio::test]
async fn a_preview_stores_nothing_and_says_what_the_fork_says(#[case] more: Value) {
    let api = Api::start().await;
    let history = counted(&api, "first").await;
    let mut fork = json!({ "checkpoint": id(&history[2]), "thread": "second", "preview": true });
    fork.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let preview = api.post("/threads/first/fork", fork.clone()).await;
    assert_eq!(api.status(Method::GET, "/threads/second", None).await, 404);
    assert_eq!(api.post("/threads/first/history", json!({ "limit": 100 })).await, json!(history));
    fork["preview"] = false.into();
    let made = api.post("/threads/first/fork", fork).await;
    assert_eq!((&preview["thread"], &preview["next"]), (&made["thread"], &made["next"]));
}

#[rstest]
#[case::unknown_thread("none", json!({ "checkpoint": 1 }), 404, "there is no thread `none`")]
#[case::unknown_checkpoint("first", json!({ "checkpoint": 999, "thread": "b" }), 404, "999")]
#[case::taken_name("first", json!({ "checkpoint": 2, "thread": "first" }), 409, "the thread `first` exists: choose another name")]
#[case::empty_name("first", json!({ "checkpoint": 2, "thread": "" }), 422, "the name of a thread cannot be empty")]
#[case::wrong_value("first", json!({ "checkpoint": 2, "thread": "b", "values": { "n": "x" } }), 422, "values.n")]
#[case::unknown_node("first", json!({ "checkpoint": 2, "thread": "b", "as_node": "Nobody" }), 400, "there is no node `Nobody`")]
#[tokio::test]
async fn a_fork_that_cannot_be_made_leaves_nothing(
    #[case] thread: &str,
    #[case] fork: Value,
    #[case] status: u16,
    #[case] detail: &str,
    #[values(false, true)] is_preview: bool,
) {
    let api = Api::start().await;
    let history = counted(&api, "first").await;
    let mut fork = fork;
    fork["preview"] = is_preview.into();
    let answer = api.send(Method::POST, &format!("/threads/{thread}/fork"), Some(fork)).await;
    assert_eq!(answer.status().as_u16(), status);
    let text = answer.json::<Value>().await.unwrap()["detail"].as_str().unwrap().to_owned();
    assert!(text.contains(detail), "{text}");
    assert_eq!(api.status(Method::GET, "/threads/b", None).await, 404);
    assert_eq!(api.post("/threads/first/history", json!({ "limit": 100 })).await, json!(history));
}

/// A hook that adds 100, and refuses forks of the name `refused`.
struct Plus100;

struct Prepared;

impl ForkHook for Plus100 {
    fn prepare(&self, origin: ForkOrigin) -> BoxFuture<'static, Result<Box<dyn PreparedFork>, String>> {
        Box::pin(async move {
            match origin.name.as_deref() {
                Some("refused") => Err("there is no room for it".to_owned()),
                _ => Ok(Box::new(Prepared) as Box<dyn PreparedFork>),
            }
        })
    }
}

impl PreparedFork for Prepared {
    fn values(&self) -> Value {
        json!({ "n": 100 })
    }

    fn stored(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn undo(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_program_prepares_the_forks_of_its_graphs() {
    let options = Options::default().prepare_forks("counter", Plus100);
    let api = Api::start_with(options, Arc::new(MemoryCheckpointer::new())).await;
    let history = counted(&api, "first").await;
    let fork = |name: &str| json!({ "checkpoint": id(&history[2]), "thread": name });
    api.post("/threads/first/fork", fork("second")).await;
    let before = history[2]["values"]["n"].as_u64().unwrap();
    assert_eq!(api.get("/threads/second/state").await["values"]["n"], before + 100);
    let refused = api.send(Method::POST, "/threads/first/fork", Some(fork("refused"))).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused.json::<Value>().await.unwrap()["detail"], "there is no room for it");
}

/// Exports a thread, and returns its file.
async fn exported(api: &Api, thread: &str) -> Vec<u8> {
    let answer = api.send(Method::GET, &format!("/threads/{thread}/export"), None).await;
    assert_eq!(answer.headers()["content-disposition"], format!("attachment; filename*=UTF-8''{thread}.superstep"));
    answer.bytes().await.unwrap().to_vec()
}

#[tokio::test]
async fn an_exported_thread_is_imported_untrusted_and_runs_once_it_is_trusted() {
    let (from, to) = (Api::start().await, Api::start().await);
    let asked = json!({ "assistant_id": "approval", "if_not_exists": "create", "input": { "request": "ship" } });
    from.post("/threads/first/runs/wait", asked).await;
    let file = exported(&from, "first").await;
    let import = to.client.post(format!("{}/threads/import?thread=copied", to.address)).body(file.clone());
    let imported: Value = import.send().await.unwrap().json().await.unwrap();
    assert_eq!(imported, json!({ "thread": "copied", "graph": "approval", "trusted": false }));
    let answer = json!({ "assistant_id": "approval", "command": { "resume": "yes" } });
    assert_eq!(to.status(Method::POST, "/threads/copied/runs/wait", Some(answer.clone())).await, 403);
    let again = to.client.post(format!("{}/threads/import?thread=copied", to.address)).body(file);
    assert_eq!(again.send().await.unwrap().status(), StatusCode::CONFLICT);
    to.post("/threads/copied/trust", json!({})).await;
    assert_eq!(to.status(Method::POST, "/threads/copied/runs/wait", Some(answer)).await, 200);
}

#[tokio::test]
async fn what_is_no_exported_thread_is_refused() {
    let api = Api::start().await;
    let import = api.client.post(format!("{}/threads/import", api.address)).body("not a thread");
    let answer = import.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.json::<Value>().await.unwrap()["detail"].as_str().unwrap().contains("not"));
    assert_eq!(api.status(Method::GET, "/threads/none/export", None).await, 404);
}

#[rstest]
#[case(KeyRole::Run, Method::GET, "/threads/t/export", 403)]
#[case(KeyRole::Admin, Method::GET, "/threads/t/export", 404)]
#[case(KeyRole::Read, Method::POST, "/threads/t/fork", 403)]
#[case(KeyRole::Answer, Method::POST, "/threads/t/fork", 403)]
#[case(KeyRole::Read, Method::POST, "/threads/import", 403)]
#[case(KeyRole::Run, Method::POST, "/threads/import", 422)]
#[tokio::test]
async fn each_needs_its_role(#[case] role: KeyRole, #[case] method: Method, #[case] path: &str, #[case] status: u16) {
    let locked = Locked::start().await;
    let request = locked.request(role, method, path).header("content-type", "application/json").body("{}");
    assert_eq!(request.send().await.unwrap().status().as_u16(), status);
}

#[tokio::test]
async fn a_thread_is_not_imported_under_the_name_of_one_that_has_not_run() {
    let api = Api::start().await;
    counted(&api, "first").await;
    let file = exported(&api, "first").await;
    api.post("/threads", json!({ "thread_id": "waiting" })).await;
    let import = api.client.post(format!("{}/threads/import?thread=waiting", api.address)).body(file);
    assert_eq!(import.send().await.unwrap().status(), StatusCode::CONFLICT);
    assert_eq!(api.get("/threads/waiting/state").await["values"], json!({}));
}

#[tokio::test]
async fn a_run_does_not_start_from_a_checkpoint_of_a_subgraph() {
    let api = Api::start().await;
    let history = counted(&api, "first").await;
    let checkpoint = json!({ "checkpoint_id": id(&history[2]).to_string(), "checkpoint_ns": "child:3-0" });
    let run = json!({ "assistant_id": "counter", "checkpoint": checkpoint });
    assert_eq!(api.status(Method::POST, "/threads/first/runs", Some(run)).await, 422);
}
