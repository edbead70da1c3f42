//! Runs as tasks of MCP: any server of the store answers for them, after any restart; people's questions stay theirs.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::{AnyGraph, Graphs};
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, Process, all_graphs};
use crate::mcp_client::{McpClient, NEW, tasks};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Release {
    is_out: Option<bool>,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "release")]
struct MayRelease {
    version: u32,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Ask,
}

/// Returns a graph that asks once, one of some people or anybody.
fn release(approvers: &'static [&'static str]) -> CompiledGraph<Release, Step> {
    let ask = move |_: Arc<Release>, ctx: Ctx| async move {
        let asked = ctx.ask(MayRelease { version: 3 }).approvers(approvers.iter().copied());
        Ok::<_, NodeError>(Release::update().is_out(Some(asked.await?)))
    };
    StateGraph::new().add_node(Step::Ask, ask.asks::<MayRelease>()).add_sequence([Step::Ask]).compile().unwrap()
}

fn releases() -> Graphs {
    let by_people = AnyGraph::from(release(&[]).named("by_people")).answered_by_people();
    Graphs::new().with(release(&[]).named("by_anybody")).with(release(&["ada"]).named("by_ada")).with(by_people)
}

#[tokio::test]
async fn only_a_request_that_declares_tasks_gets_one() {
    let api = Api::start().await;
    let plain = McpClient::of(&api, NEW, json!({})).call("run_counter", json!({})).await;
    assert_eq!((&plain["resultType"], plain["taskId"].is_null()), (&json!("complete"), true), "{plain}");
    let task = McpClient::of(&api, NEW, tasks()).call("run_counter", json!({})).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    let unknown = McpClient::of(&api, NEW, tasks()).task("nowhere").await;
    assert_eq!(unknown["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn any_server_answers_for_a_task() {
    let store = Arc::new(MemoryCheckpointer::new());
    let first = Api::start_with(Options::default(), Arc::clone(&store) as _).await;
    let second = Api::start_with(Options::default(), store).await;
    let (first, second) = (McpClient::of(&first, NEW, tasks()), McpClient::of(&second, NEW, tasks()));
    let thread = first.start("run_approval", json!({ "request": "x" })).await;
    let asked = second.task_with(&thread, "input_required").await;
    let (_, form) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(form["params"]["requestedSchema"]["properties"]["answer"]["type"], "string", "{asked}");
    let accepted = json!({ "action": "accept", "content": { "answer": "yes" } });
    assert_eq!(second.fill_in(&asked, accepted).await["resultType"], "complete");
    let done = first.task_with(&thread, "completed").await;
    let result = &done["result"];
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["state"]["status"]),
        (&json!(false), &json!("approved"))
    );
}

#[tokio::test]
async fn a_task_outlives_a_killed_server() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (process, api) = Process::start(&store);
    let client = McpClient::of(&api, NEW, tasks());
    let slow = client.start("run_slow", json!({ "steps": 20, "ms": 10 })).await;
    let asks = client.start("run_approval", json!({ "request": "x" })).await;
    client.task_with(&asks, "input_required").await;
    drop(process);
    let (_process, api) = Process::start(&store);
    let client = McpClient::of(&api, NEW, tasks());
    let done = client.task_with(&slow, "completed").await;
    assert_eq!(done["result"]["structuredContent"]["state"]["ticks"], 20);
    let asked = client.task_with(&asks, "input_required").await;
    client.fill_in(&asked, json!({ "action": "accept", "content": { "answer": "yes" } })).await;
    let done = client.task_with(&asks, "completed").await;
    assert_eq!(done["result"]["structuredContent"]["state"]["status"], "approved");
}

#[tokio::test]
async fn a_graph_that_fails_is_a_completed_task_with_an_error() {
    let api = Api::start().await;
    let client = McpClient::of(&api, NEW, tasks());
    let thread = client.start("run_fails", json!({ "reason": "x" })).await;
    let done = client.task_with(&thread, "completed").await;
    assert_eq!(done["result"]["isError"], true);
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("boom: x") && text.contains(&thread), "{text}");
}

#[rstest]
#[case::running("run_slow", json!({ "steps": 100_000, "ms": 1 }), "working")]
#[case::asking("run_approval", json!({ "request": "x" }), "input_required")]
#[tokio::test]
async fn a_task_is_cancelled(#[case] tool: &str, #[case] input: Value, #[case] before: &str) {
    let api = Api::start().await;
    let client = McpClient::of(&api, NEW, tasks());
    let thread = client.start(tool, input).await;
    client.task_with(&thread, before).await;
    assert_eq!(client.request("tasks/cancel", json!({ "taskId": thread })).await["resultType"], "complete");
    client.task_with(&thread, "cancelled").await;
}

#[rstest]
#[case::declined(json!({ "action": "decline" }))]
#[case::left(json!({ "action": "cancel" }))]
#[case::mistyped(json!({ "action": "accept", "content": { "answer": "maybe" } }))]
#[case::empty(json!({ "action": "accept", "content": {} }))]
#[tokio::test]
async fn what_is_no_answer_leaves_the_question_open(#[case] response: Value) {
    let api = Api::start_graphs(releases(), Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    let client = McpClient::of(&api, NEW, tasks());
    let thread = client.start("run_by_anybody", json!({})).await;
    let asked = client.task_with(&thread, "input_required").await;
    let (_, form) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(form["params"]["requestedSchema"]["properties"]["answer"]["type"], "boolean", "{asked}");
    client.fill_in(&asked, response).await;
    let still = client.task(&thread).await;
    assert_eq!(still["inputRequests"], asked["inputRequests"], "{still}");
    client.fill_in(&still, json!({ "action": "accept", "content": { "answer": true } })).await;
    let done = client.task_with(&thread, "completed").await;
    assert_eq!(done["result"]["structuredContent"]["state"]["is_out"], true);
}

#[rstest]
#[case::of_approvers("by_ada")]
#[case::of_people("by_people")]
#[tokio::test]
async fn a_question_for_people_is_not_offered_to_the_client_that_started_the_run(#[case] graph: &str) {
    let api = Api::start_graphs(releases(), Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    let client = McpClient::of(&api, NEW, tasks());
    let thread = client.start(&format!("run_{graph}"), json!({})).await;
    let run = api.get(&format!("/threads/{thread}/runs")).await[0]["run_id"].as_str().unwrap().to_owned();
    api.get(&format!("/threads/{thread}/runs/{run}/join")).await;
    let task = client.task(&thread).await;
    assert_eq!((&task["status"], task["inputRequests"].is_null()), (&json!("working"), true), "{task}");
    assert!(task["statusMessage"].as_str().unwrap().contains("`release`"), "{task}");
    let id = api.get(&format!("/threads/{thread}/state")).await["interrupts"][0]["id"].clone();
    let refused = client.call("answer", json!({ "thread": thread, "answer": true, "question": id })).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let forged = json!({ "taskId": thread, "inputRequests": { id.as_str().unwrap(): {} } });
    client.fill_in(&forged, json!({ "action": "accept", "content": { "answer": true } })).await;
    let waited = client.call("wait", json!({ "thread": thread, "seconds": 0 })).await;
    assert_eq!(
        (&waited["resultType"], &waited["structuredContent"]["status"]),
        (&json!("complete"), &json!("working"))
    );
    if graph == "by_people" {
        let answer = json!({ "assistant_id": graph, "command": { "resume": true } });
        api.post(&format!("/threads/{thread}/runs/wait"), answer).await;
        assert_eq!(client.task(&thread).await["status"], "completed");
    }
}

#[test]
fn a_graph_is_open_to_clients_unless_it_says_otherwise() {
    assert!(all_graphs().unwrap().iter().all(|graph| !graph.is_answered_by_people()));
}
