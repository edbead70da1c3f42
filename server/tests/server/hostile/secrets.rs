//! Nodes that make a secret themselves, or in a subgraph, and copy it to all that they can write to: no reader gets it, whichever way the
//! run ends.

use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use reqwest::Method;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::{AnyGraph, Graphs, RetryPolicy};
use superstep::prelude::*;
use superstep_server::Options;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::api::Api;
use crate::mcp_client::{McpClient, NEW, tasks};
use crate::webhooks::Receiver;

/// The secret has a quotation mark, as texts quote and escape what is in them.
const SECRET: &str = "correct \"horse\" battery";
/// The part of the secret that no text has otherwise.
const PART: &str = "horse";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Keeper {
    #[channel(secret)]
    token: String,
    #[channel(reduce = note)]
    log: String,
    /// The way in which the run ends.
    way: String,
}

fn note(log: &mut String, more: String) {
    assert!(!more.ends_with('!'), "cannot note {more}");
    log.push_str(&more);
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "confirm")]
struct Confirm {
    text: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Make,
    Idle,
    Copy,
}

async fn make(_: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update().token(SECRET))
}

async fn idle(_: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update())
}

async fn copy(state: Arc<Keeper>, ctx: Ctx) -> Result<KeeperUpdate, NodeError> {
    let (token, text) = (&state.token, format!("it is {} or {:?}", state.token, state.token));
    ctx.emit(json!({ "copy": token, "list": [{ "text": text }] })).await;
    ctx.emit_message(json!({ "type": "ai", "id": "m", "content": text })).await;
    match &*state.way {
        "asks" => _ = ctx.interrupt(Confirm { text: text.clone() })?,
        "fails" => return Err(NodeError::transient(text)),
        "panics" => panic!("{text}"),
        "is_not_reduced" => return Ok(Keeper::update().log(format!("{text}!"))),
        _ => {}
    }
    Ok(Keeper::update().log(text))
}

fn after_make(state: &Keeper) -> Step {
    assert!(state.way != "has_no_way", "no way for {} or {:?}", state.token, state.token);
    Step::Copy
}

/// Returns a graph that makes its secret beside another node.
fn keeper() -> CompiledGraph<Keeper, Step> {
    StateGraph::new()
        .add_node(Step::Make, make)
        .add_node(Step::Idle, idle)
        .add_node(Step::Copy, copy.asks::<Confirm>().retry(RetryPolicy::attempts(2).pause(Duration::ZERO)))
        .add_edge(START, [Step::Make, Step::Idle])
        .add_conditional_edges_to(Step::Make, after_make, [Step::Copy])
        .add_edge(Step::Copy, END)
        .compile()
        .unwrap()
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Outer {
    way: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum OuterStep {
    Call,
}

/// Returns a graph that has no secret itself.
fn outer() -> AnyGraph {
    let (inner, called) = (keeper(), keeper());
    let call = move |state: Arc<Outer>, ctx: Ctx| {
        let inner = inner.clone();
        async move {
            ctx.call(&inner, Keeper::update().way(state.way.clone())).await?;
            Ok::<_, NodeError>(Outer::update())
        }
    };
    let graph = StateGraph::new().add_node(OuterStep::Call, call.asks::<Confirm>()).calls(&OuterStep::Call, &called);
    graph.add_sequence([OuterStep::Call]).compile().unwrap().named("outer").into()
}

async fn start() -> Api {
    let graphs = Graphs::new().with(keeper().named("keeper")).with(outer());
    let options = Options::default().allow_private_webhooks(true).webhook_secret("s");
    Api::start_graphs(graphs, options, Arc::new(MemoryCheckpointer::new())).await
}

/// Sends a request, and returns the answer, which must not have the secret.
async fn ask(api: &Api, method: Method, path: &str, body: Option<Value>) -> String {
    let text = api.send(method, path, body).await.text().await.unwrap();
    assert!(!text.contains(PART), "{path}: {text}");
    text
}

/// Returns all messages of a socket up to the end of a run.
async fn read_socket(api: &Api, thread: &str, run: Value) -> String {
    let address = format!("{}/threads/{thread}/stream/events", api.address.replace("http", "ws"));
    let (mut socket, _) = connect_async(address).await.unwrap();
    let channels = ["values", "updates", "messages", "tools", "lifecycle", "input", "tasks", "checkpoints", "custom"];
    let subscribe = json!({ "id": 1, "method": "subscription.subscribe", "params": { "channels": channels } });
    let start = json!({ "id": 2, "method": "run.start", "params": run });
    for command in [subscribe, start] {
        socket.send(Message::text(command.to_string())).await.unwrap();
    }
    let mut all = String::new();
    loop {
        let Message::Text(text) = socket.next().await.unwrap().unwrap() else { continue };
        all.push_str(&text);
        let message: Value = serde_json::from_str(&text).unwrap();
        assert_ne!(message["type"], "error", "{text}");
        let params = &message["params"];
        let is_root = params["namespace"].as_array().is_some_and(Vec::is_empty);
        let ends = ["completed", "failed", "interrupted"].iter().any(|end| params["data"]["event"] == *end);
        if message["method"] == "lifecycle" && is_root && ends {
            return all;
        }
    }
}

#[rstest]
#[case("keeper", "succeeds")]
#[case("keeper", "fails")]
#[case("keeper", "panics")]
#[case("keeper", "is_not_reduced")]
#[case("keeper", "has_no_way")]
#[case("keeper", "asks")]
#[case("outer", "succeeds")]
#[case("outer", "fails")]
#[case("outer", "panics")]
#[case("outer", "is_not_reduced")]
#[case("outer", "has_no_way")]
#[case("outer", "asks")]
#[tokio::test]
async fn a_secret_that_a_node_makes_leaves_by_no_way(#[case] graph: &str, #[case] way: &str) {
    let (api, mut hook) = (start().await, Receiver::start([]).await);
    let modes =
        ["values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events"];
    let run = json!({
        "assistant_id": graph, "input": { "way": way }, "stream_mode": modes, "stream_subgraphs": true,
        "stream_resumable": true, "if_not_exists": "create", "webhook": hook.url,
    });
    let stream = ask(&api, Method::POST, "/threads/t/runs/stream", Some(run.clone())).await;
    assert!(stream.contains("[secret]"), "{stream}");
    let (_, sent) = hook.next().await;
    assert!(!sent.to_string().contains(PART), "{sent}");

    let runs: Value = serde_json::from_str(&ask(&api, Method::GET, "/threads/t/runs", None).await).unwrap();
    let path = format!("/threads/t/runs/{}", runs[0]["run_id"].as_str().unwrap());
    for path in [&*path, &format!("{path}/join"), "/threads/t", "/threads/t/state", "/threads/t/history", "/metrics"] {
        ask(&api, Method::GET, path, None).await;
    }
    let again = api.client.get(format!("{}{path}/stream", api.address)).header("last-event-id", "-1");
    let again = again.send().await.unwrap().text().await.unwrap();
    assert!(again.contains("[secret]") && !again.contains(PART), "{again}");
    for (path, body) in [("/threads/search", json!({})), ("/threads/u/runs/wait", run.clone())] {
        ask(&api, Method::POST, path, Some(body)).await;
    }
    let received = read_socket(&api, "v", json!({ "assistant_id": graph, "input": { "way": way } })).await;
    assert!(received.contains("[secret]") && !received.contains(PART), "{received}");
}

#[rstest]
#[case("keeper")]
#[case("outer")]
#[tokio::test]
async fn a_question_of_the_past_has_no_secret(#[case] graph: &str) {
    let api = start().await;
    let run = json!({ "assistant_id": graph, "input": { "way": "asks" }, "if_not_exists": "create" });
    ask(&api, Method::POST, "/threads/t/runs/wait", Some(run)).await;
    let answer = json!({ "assistant_id": graph, "command": { "resume": "yes" } });
    ask(&api, Method::POST, "/threads/t/runs/wait", Some(answer)).await;
    let path = "/threads/t/history";
    let history = ask(&api, Method::POST, path, Some(json!({ "limit": 100 }))).await;
    let states: Vec<Value> = serde_json::from_str(&history).unwrap();
    let asked = states.iter().find(|state| state["interrupts"][0]["value"]["text"].is_string()).unwrap();
    assert!(asked["interrupts"].to_string().contains("[secret]"), "{asked}");
    ask(&api, Method::GET, &format!("/threads/t/state/{}", asked["checkpoint_id"].as_str().unwrap()), None).await;
    if let Some(inside) = asked["tasks"][0]["checkpoint"].as_object() {
        let inside = json!({ "checkpoint": inside, "limit": 100 });
        let states = ask(&api, Method::POST, path, Some(inside.clone())).await;
        assert!(states.contains("[secret]"), "{states}");
        ask(&api, Method::POST, "/threads/t/state/checkpoint", Some(inside)).await;
    }
}

#[rstest]
#[case("keeper", "succeeds")]
#[case("keeper", "fails")]
#[case("keeper", "has_no_way")]
#[case("keeper", "asks")]
#[case("outer", "succeeds")]
#[case("outer", "fails")]
#[case("outer", "has_no_way")]
#[case("outer", "asks")]
#[tokio::test]
async fn a_client_of_mcp_gets_no_secret_that_a_node_makes(#[case] graph: &str, #[case] way: &str) {
    let api = start().await;
    for client in [McpClient::of(&api, NEW, json!({})), McpClient::of(&api, NEW, tasks())] {
        let thread = client.start(&format!("run_{graph}"), json!({ "way": way })).await;
        let mut received = client.call("wait", json!({ "thread": thread, "seconds": 50 })).await.to_string();
        for tool in ["status", "history"] {
            received += &client.call(tool, json!({ "thread": thread })).await.to_string();
        }
        received += &client.task(&thread).await.to_string();
        assert!(received.contains(&thread) && !received.contains(PART), "{received}");
    }
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Use {
    Make,
    Note,
    Clear,
}

/// Makes another secret in each call.
async fn make_for_call(state: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update().token(format!("{PART} {}", state.way)))
}

async fn note_token(state: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update().log(format!("it is {}", state.token)))
}

async fn clear(_: Arc<Keeper>, _: Ctx) -> Result<KeeperUpdate, NodeError> {
    Ok(Keeper::update().token(""))
}

fn clearing() -> CompiledGraph<Keeper, Use> {
    StateGraph::new()
        .add_node(Use::Make, make_for_call)
        .add_node(Use::Note, note_token)
        .add_node(Use::Clear, clear)
        .add_sequence([Use::Make, Use::Note, Use::Clear])
        .compile()
        .unwrap()
}

/// Returns a graph that calls another one twice, in two attempts; both fail with, or write, a secret that the other graph has cleared.
fn retrying() -> AnyGraph {
    let (inner, called) = (clearing(), clearing());
    let call = move |_: Arc<Outer>, ctx: Ctx| {
        let inner = inner.clone();
        async move {
            let end = ctx.call(&inner, Keeper::update().way(format!("number {}", ctx.attempt()))).await?;
            match ctx.attempt() {
                1 => Err(NodeError::transient(end.log.clone())),
                _ => Ok(Outer::update().way(end.log.clone())),
            }
        }
    };
    let call = call.retry(RetryPolicy::attempts(2).pause(Duration::ZERO));
    let graph = StateGraph::new().add_node(OuterStep::Call, call).calls(&OuterStep::Call, &called);
    graph.add_sequence([OuterStep::Call]).compile().unwrap().named("retrying").into()
}

/// Runs `retrying` on the thread `t`; returns the checkpoint before its call, and the id of the task.
async fn run_retrying() -> (Api, String, String) {
    let graphs = Graphs::new().with(retrying());
    let api = Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    let run = json!({ "assistant_id": "retrying", "input": {}, "if_not_exists": "create" });
    api.post("/threads/t/runs/wait", run).await;
    let states = api.post("/threads/t/history", json!({ "limit": 10 })).await;
    let at = states.as_array().unwrap().iter().find(|state| state["next"] == json!(["call"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (api, text(&at["checkpoint_id"]), text(&at["tasks"][0]["id"]))
}

#[tokio::test]
async fn a_secret_that_a_call_of_a_subgraph_has_cleared_is_in_no_inspection() {
    let (api, at, task) = run_retrying().await;
    let one = ask(&api, Method::GET, &format!("/threads/t/checkpoints/{at}"), None).await;
    assert!(one.contains("[secret]"), "{one}");
    let found = ask(&api, Method::GET, &format!("/threads/t/checkpoints/{at}/tasks/{task}"), None).await;
    assert!(found.contains("[secret]"), "{found}");
    ask(&api, Method::GET, "/threads/t/checkpoints", None).await;
    let inside = format!("/threads/t/checkpoints?within={at}:{task}");
    let inside: Value = serde_json::from_str(&ask(&api, Method::GET, &inside, None).await).unwrap();
    let newest = inside["checkpoints"][0]["checkpoint"].to_string();
    let log = format!("/threads/t/checkpoints/{newest}/value?within={at}:{task}&path=/log");
    assert!(ask(&api, Method::GET, &log, None).await.contains("[secret]"));
    let last = api.get("/threads/t/state").await["checkpoint_id"].as_str().unwrap().to_owned();
    let diff = ask(&api, Method::GET, &format!("/threads/t/diff?from={at}&to={last}"), None).await;
    assert!(diff.contains("[secret]"), "{diff}");
}

#[tokio::test]
async fn each_call_of_a_subgraph_has_its_own_states() {
    let (api, _, task) = run_retrying().await;
    for (number, attempt) in [("", 2), ("|#0", 1), ("|#1", 2)] {
        let place = json!({ "checkpoint_ns": format!("call:{task}{number}") });
        let states = api.post("/threads/t/history", json!({ "checkpoint": place, "limit": 10 })).await;
        let states = states.as_array().unwrap();
        assert_eq!(states.len(), 5, "{number}: {states:?}");
        assert_eq!(states[0]["values"]["way"], format!("number {attempt}"), "{number}");
        let checkpoint =
            json!({ "checkpoint_ns": format!("call:{task}"), "checkpoint_id": states[0]["checkpoint_id"] });
        let read = api.post("/threads/t/state/checkpoint", json!({ "checkpoint": checkpoint })).await;
        assert_eq!(read["values"]["way"], states[0]["values"]["way"], "{number}");
    }
}

#[tokio::test]
async fn a_secret_in_metadata_is_neither_in_a_list_of_checkpoints_nor_in_the_inbox() {
    let api = start().await;
    let (metadata, input) = (json!({ "title": format!("use {SECRET}") }), json!({ "way": "asks" }));
    api.post("/threads", json!({ "thread_id": "t", "metadata": metadata })).await;
    let run = json!({ "assistant_id": "keeper", "input": input, "metadata": metadata });
    ask(&api, Method::POST, "/threads/t/runs/wait", Some(run)).await;
    for path in ["/threads/t/checkpoints", "/inbox", "/threads/t/inbox"] {
        let shown = ask(&api, Method::GET, path, None).await;
        assert!(shown.contains("use [secret]"), "{path}: {shown}");
    }
}
