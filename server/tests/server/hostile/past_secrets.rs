//! Secrets that were changed or cleared since a node has copied them, and secrets that a comparison makes: no answer has them.

use std::sync::Arc;

use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};
use superstep::graph::{AnyGraph, Graphs};
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::Api;

/// The part of each secret that no text has otherwise.
const PART: &str = "horse";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Keeper {
    #[channel(secret)]
    token: String,
    #[channel(append)]
    log: Vec<String>,
    asks: bool,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "confirm")]
struct Confirm {
    text: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Note,
    Clear,
    Ask,
}

async fn note(state: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update().log([format!("it is {}", state.token)]))
}

async fn clear(_: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update().token(""))
}

async fn ask(state: Arc<Keeper>, ctx: Ctx) -> Result<KeeperUpdate, NodeError> {
    if state.asks {
        ctx.interrupt(Confirm { text: format!("after {}?", state.log.join(", ")) })?;
    }
    Ok(Keeper::update())
}

/// Returns a graph that clears its secret once it has noted it.
fn clearing() -> CompiledGraph<Keeper, Step> {
    StateGraph::new()
        .add_node(Step::Note, note)
        .add_node(Step::Clear, clear)
        .add_node(Step::Ask, ask.asks::<Confirm>())
        .add_sequence([Step::Note, Step::Clear, Step::Ask])
        .compile()
        .unwrap()
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum OuterStep {
    Call,
    Rest,
}

async fn rest(_: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update())
}

/// Returns a graph that makes its secret in a subgraph over its own state.
fn outer() -> AnyGraph {
    StateGraph::new()
        .add_subgraph(OuterStep::Call, clearing())
        .add_node(OuterStep::Rest, rest)
        .add_sequence([OuterStep::Call, OuterStep::Rest])
        .compile()
        .unwrap()
        .named("outer")
        .into()
}

async fn start() -> Api {
    let graphs = Graphs::new().with(clearing().named("clearing")).with(outer());
    Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await
}

/// Sends a request, and returns the answer, which must not have the secret.
async fn read(api: &Api, method: Method, path: &str, body: Option<Value>) -> String {
    let text = api.send(method, path, body).await.text().await.unwrap();
    assert!(!text.contains(PART), "{path}: {text}");
    text
}

#[rstest]
#[case::of_a_graph("clearing", false)]
#[case::with_a_question("clearing", true)]
#[case::of_a_subgraph("outer", false)]
#[case::with_a_question_in_a_subgraph("outer", true)]
#[tokio::test]
async fn the_copy_of_a_secret_that_was_cleared_since_is_in_no_answer(#[case] graph: &str, #[case] asks: bool) {
    let api = start().await;
    let run = |secret: &str| {
        let input = json!({ "token": format!("correct {secret} {PART}"), "asks": asks });
        json!({ "assistant_id": graph, "input": input, "if_not_exists": "create", "stream_mode": ["values", "updates", "tasks"] })
    };
    let ended = read(&api, Method::POST, "/threads/t/runs/wait", Some(run("first"))).await;
    assert!(ended.contains("it is [secret]"), "{ended}");
    let resumed = json!({ "assistant_id": graph, "command": { "resume": "yes" } });
    if asks {
        read(&api, Method::POST, "/threads/t/runs/wait", Some(resumed)).await;
    }
    // The second run reads what the first one has noted.
    let streamed = read(&api, Method::POST, "/threads/t/runs/stream", Some(run("second"))).await;
    assert!(streamed.contains("it is [secret]"), "{streamed}");
    for path in ["/threads/t", "/threads/t/state", "/threads/t/state?subgraphs=true", "/threads/t/history?limit=100"] {
        let shown = read(&api, Method::GET, path, None).await;
        assert!(shown.contains("it is [secret]"), "{path}: {shown}");
    }
    for path in ["/inbox", "/threads/t/inbox", "/threads/t/status", "/threads/t/checkpoints"] {
        read(&api, Method::GET, path, None).await;
    }
    let found = read(&api, Method::POST, "/threads/search", Some(json!({}))).await;
    assert!(found.contains("it is [secret]"), "{found}");
    let states = api.post("/threads/t/history", json!({ "limit": 100 })).await;
    let ids: Vec<&str> =
        states.as_array().unwrap().iter().map(|state| state["checkpoint_id"].as_str().unwrap()).collect();
    for id in &ids {
        read(&api, Method::GET, &format!("/threads/t/state/{id}"), None).await;
        read(&api, Method::GET, &format!("/threads/t/checkpoints/{id}"), None).await;
        read(&api, Method::GET, &format!("/threads/t/checkpoints/{id}/value"), None).await;
        read(&api, Method::GET, &format!("/threads/t/checkpoints/{id}/value?path=/log/0&full=true"), None).await;
        read(&api, Method::GET, &format!("/threads/t/diff?from={id}&to={}", ids[0]), None).await;
    }
    let log = format!("/threads/t/checkpoints/{}/value?path=/log/0&full=true", ids[0]);
    assert!(read(&api, Method::GET, &log, None).await.contains("it is [secret]"));
    for state in states.as_array().unwrap() {
        for task in state["tasks"].as_array().unwrap().iter().filter(|task| task["checkpoint"].is_object()) {
            let inside = json!({ "checkpoint": task["checkpoint"], "limit": 100 });
            read(&api, Method::POST, "/threads/t/history", Some(inside.clone())).await;
            read(&api, Method::POST, "/threads/t/state/checkpoint", Some(inside)).await;
        }
    }
    for route in ["verify", "what-if"] {
        read(&api, Method::POST, &format!("/threads/t/{route}"), Some(json!({}))).await;
    }
}

#[tokio::test]
async fn a_thread_that_was_made_again_under_its_name_is_read_again() {
    let api = start().await;
    for secret in ["first", "second", "third"] {
        let input = json!({ "token": format!("correct {secret} {PART}") });
        let body = json!({ "assistant_id": "clearing", "input": input, "if_not_exists": "create" });
        read(&api, Method::POST, "/threads/t/runs/wait", Some(body)).await;
        let shown = read(&api, Method::GET, "/threads/t/state", None).await;
        assert!(shown.contains("it is [secret]"), "{shown}");
        assert_eq!(api.status(Method::DELETE, "/threads/t", None).await, 204);
    }
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Made {
    Make,
    Note,
}

/// Returns a graph whose node makes a secret of its own in each version.
fn making(version: &'static str) -> Graphs {
    let make = move |_: Arc<Keeper>, _: Ctx| async move {
        let token = format!("{version} {PART}");
        Ok::<_, NodeError>(Keeper::update().log([format!("made {token}")]).token(token))
    };
    let graph = StateGraph::new()
        .add_node(Made::Make, make.replayable())
        .add_node(Made::Note, note.replayable())
        .add_sequence([Made::Make, Made::Note]);
    Graphs::new().with(graph.compile().unwrap().named("making"))
}

#[tokio::test]
async fn a_secret_that_a_comparison_makes_is_not_in_its_answer() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let api = Api::start_graphs(making("battery"), Options::default(), Arc::clone(&store)).await;
    let body = json!({ "assistant_id": "making", "input": {}, "if_not_exists": "create" });
    read(&api, Method::POST, "/threads/t/runs/wait", Some(body)).await;
    let changed = Api::start_graphs(making("staple"), Options::default(), store).await;
    let verified = read(&changed, Method::POST, "/threads/t/verify", Some(json!({}))).await;
    assert!(verified.contains("different") && verified.contains("made [secret]"), "{verified}");
    let what_if = read(&changed, Method::POST, "/threads/t/what-if", Some(json!({}))).await;
    assert!(what_if.contains("it is [secret]") && what_if.contains("made [secret]"), "{what_if}");
}
