//! Tools over MCP: in both versions of the protocol, with forms and without, over HTTP and over standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::Arc;

use reqwest::{Method, redirect::Policy};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep_server::Options;

use crate::api::{Api, program};
use crate::mcp_client::{McpClient, Messages, NEW, OLD, tasks};

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[rstest]
#[case::old(OLD)]
#[case::new(NEW)]
#[tokio::test]
async fn each_graph_is_a_tool_with_its_input(#[case] version: &'static str) {
    let api = Api::start().await;
    let listed = McpClient::of(&api, version, json!({})).request("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let graphs =
        ["counter", "chat_echo", "approval", "parallel", "slow", "fails", "nested"].map(|name| format!("run_{name}"));
    let threads = ["wait", "status", "answer", "cancel", "history", "list_runs"];
    assert_eq!(names, graphs.iter().map(String::as_str).chain(threads).collect::<Vec<_>>());
    assert!(tools[2]["inputSchema"]["properties"]["request"].is_object(), "{}", tools[2]);
    assert_eq!(tools[7]["inputSchema"]["required"], json!(["thread"]));
}

#[rstest]
#[case::old("initialize", OLD)]
#[case::new("server/discover", NEW)]
#[tokio::test]
async fn a_client_learns_that_there_are_tasks(#[case] method: &str, #[case] version: &'static str) {
    let api = Api::start().await;
    let client = McpClient::of(&api, version, json!({}));
    let params = if version == OLD { client.initialize() } else { json!({}) };
    let known = client.request(method, params).await;
    assert!(known["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "{known}");
    if version == OLD {
        assert_eq!(known["protocolVersion"], OLD);
    }
}

#[rstest]
#[case::old(OLD)]
#[case::new(NEW)]
#[tokio::test]
async fn a_run_is_one_of_the_http_api_too(#[case] version: &'static str) {
    let api = Api::start().await;
    let client = McpClient::of(&api, version, json!({}));
    let thread = client.start("run_counter", json!({ "n": 2 })).await;
    let done = client.call("wait", json!({ "thread": thread, "seconds": 30 })).await;
    let content = &done["structuredContent"];
    assert_eq!(
        (&content["thread"], &content["graph"], &content["status"]),
        (&json!(thread), &json!("counter"), &json!("completed"))
    );
    assert_eq!(
        (&content["state"]["n"], &content["questions"], &done["isError"]),
        (&json!(7), &json!([]), &json!(false))
    );
    assert!(text(&done).contains(&thread), "{done}");
    let runs = api.get(&format!("/threads/{thread}/runs")).await;
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["status"]), (1, &json!("success")));
    let history = client.call("history", json!({ "thread": thread, "limit": 2 })).await;
    let steps: Vec<_> =
        history["structuredContent"]["history"].as_array().unwrap().iter().map(|step| &step["step"]).collect();
    assert_eq!(steps, [5, 4]);
    let listed = client.call("list_runs", json!({ "graph": "counter", "status": "completed" })).await;
    assert_eq!(listed["structuredContent"]["runs"][0]["thread"], thread);
    let failed = client.call("list_runs", json!({ "status": "failed" })).await;
    assert_eq!(failed["structuredContent"]["runs"], json!([]));
}

#[rstest]
#[case::graph("run_counter", json!({ "n": "many" }), "n")]
#[case::thread("wait", json!({ "thread": "nowhere" }), "there is no thread `nowhere`")]
#[case::question("answer", json!({ "thread": "nowhere", "answer": 1 }), "there is no thread `nowhere`")]
#[tokio::test]
async fn a_call_that_cannot_be_followed_is_an_error_of_the_tool(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[case] reason: &str,
) {
    let api = Api::start().await;
    let result = McpClient::of(&api, NEW, tasks()).call(tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains(reason), "{result}");
}

#[tokio::test]
async fn the_answer_of_a_client_without_forms_is_a_call() {
    let api = Api::start().await;
    let client = McpClient::of(&api, OLD, json!({}));
    let thread = client.start("run_approval", json!({ "request": "x" })).await;
    let asked = client.call("wait", json!({ "thread": thread })).await;
    let question = &asked["structuredContent"]["questions"][0];
    assert_eq!(asked["structuredContent"]["status"], "input_required");
    assert_eq!(question["payload"], json!({ "question": "approve?", "proposal": "do x" }));
    assert!(text(&asked).contains("proposal: do x"), "{asked}");
    let other = client.call("answer", json!({ "thread": thread, "answer": "no", "question": "other" })).await;
    assert_eq!(other["isError"], true, "{other}");
    let id = &question["id"];
    client.call("answer", json!({ "thread": thread, "answer": "yes", "question": id })).await;
    let done = client.call("wait", json!({ "thread": thread })).await;
    assert_eq!(done["structuredContent"]["state"]["status"], "approved");
    let again = client.call("answer", json!({ "thread": thread, "answer": "no", "question": id })).await;
    assert_eq!(again["isError"], true, "{again}");
}

#[rstest]
#[case::accepted(json!({ "action": "accept", "content": { "answer": "yes" } }), "completed", json!("approved"))]
#[case::declined(json!({ "action": "decline" }), "input_required", Value::Null)]
#[case::left(json!({ "action": "cancel" }), "input_required", Value::Null)]
#[tokio::test]
async fn a_form_is_a_part_of_the_result(#[case] response: Value, #[case] status: &str, #[case] state: Value) {
    let api = Api::start().await;
    let client = McpClient::of(&api, NEW, forms());
    let thread = client.start("run_approval", json!({ "request": "x" })).await;
    let asked = client.call("wait", json!({ "thread": thread })).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (id, form) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(form["method"], "elicitation/create");
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["answer"]));
    let again = json!({ "name": "wait", "arguments": { "thread": thread }, "inputResponses": { id: response } });
    let done = client.request("tools/call", again).await;
    let content = &done["structuredContent"];
    assert_eq!((&content["status"], &content["state"]["status"]), (&json!(status), &state), "{done}");
}

#[rstest]
#[case::accepted(json!({ "action": "accept", "content": { "answer": "yes" } }), "completed")]
#[case::declined(json!({ "action": "decline" }), "input_required")]
#[tokio::test]
async fn a_form_is_a_request_in_the_stream_of_the_call(#[case] response: Value, #[case] status: &str) {
    let api = Api::start().await;
    let client = McpClient::in_session(&api, json!({ "elicitation": {} })).await;
    let thread = client.start("run_approval", json!({ "request": "x" })).await;
    let call = json!({ "name": "wait", "arguments": { "thread": thread } });
    let mut messages = Messages::of(client.send("tools/call", call).await);
    let asked = messages.next().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert!(asked["params"]["message"].as_str().unwrap().contains("do x"), "{asked}");
    client.reply(&asked["id"], response).await;
    let done = messages.next().await;
    assert_eq!(done["result"]["structuredContent"]["status"], status, "{done}");
}

#[tokio::test]
async fn a_session_is_ended_by_its_client() {
    let api = Api::start().await;
    let client = McpClient::in_session(&api, forms()).await;
    client.end().await;
    assert_eq!(client.send("tools/list", json!({})).await.status(), 404);
}

#[tokio::test]
async fn any_server_of_the_store_has_the_session_of_a_client() {
    let store = Arc::new(MemoryCheckpointer::new());
    let first = Api::start_with(Options::default(), Arc::clone(&store) as _).await;
    let client = McpClient::in_session(&first, forms()).await;
    let second = Api::start_with(Options::default(), store).await;
    let client = client.at(&second);
    let thread = client.start("run_approval", json!({ "request": "x" })).await;
    let mut messages =
        Messages::of(client.send("tools/call", json!({ "name": "wait", "arguments": { "thread": thread } })).await);
    assert_eq!(messages.next().await["method"], "elicitation/create");
}

#[rstest]
#[case(Method::GET, "/mcp", 405)]
#[case(Method::DELETE, "/mcp", 404)]
#[case(Method::POST, "/mcp/", 307)]
#[case(Method::GET, "/mcp/", 307)]
#[tokio::test]
async fn there_is_one_way_to_ask(#[case] method: Method, #[case] path: &str, #[case] status: u16) {
    let mut api = Api::start().await;
    api.client = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
    assert_eq!(api.send(method, path, None).await.status(), status);
}

#[tokio::test]
async fn a_result_is_short_whatever_the_state() {
    let api = Api::start().await;
    let client = McpClient::of(&api, OLD, json!({}));
    let input = json!({ "request": "x".repeat(400_000), "status": "short" });
    let thread = client.start("run_approval", input).await;
    let asked = client.call("wait", json!({ "thread": thread })).await;
    assert!(text(&asked).len() <= 100 << 10 && text(&asked).contains(&thread), "{}", text(&asked).len());
    let content = &asked["structuredContent"];
    assert_eq!(content["state"], json!({ "status": "short" }));
    let note = content["note"].as_str().unwrap();
    assert!(note.contains("is shown without `request`, `proposal`: `status` with `channel`"), "{note}");
    assert!(note.contains(&format!("GET /threads/{thread}/state over HTTP")), "{note}");

    let one = client.call("status", json!({ "thread": thread, "channel": "status" })).await;
    assert_eq!(
        (&one["structuredContent"]["state"], &one["structuredContent"]["note"]),
        (&json!({ "status": "short" }), &Value::Null)
    );
    let history = client.call("history", json!({ "thread": thread })).await;
    let content = &history["structuredContent"];
    assert!(content.to_string().len() <= 101 << 10 && content["note"].as_str().unwrap().contains("/history"));
    let none = client.call("status", json!({ "thread": thread, "channel": "other" })).await;
    assert_eq!(none["isError"], true);
}

#[tokio::test]
async fn runs_are_listed_page_by_page_the_newest_first() {
    let (api, pages) = (Api::start().await, 150);
    for name in 0..pages {
        let request = json!({ "assistant_id": "counter", "if_not_exists": "create", "input": { "n": name } });
        api.post(&format!("/threads/t{name}/runs/wait"), request).await;
    }
    let client = McpClient::of(&api, OLD, json!({}));
    let listed = client.call("list_runs", json!({ "limit": 100 })).await;
    let runs = listed["structuredContent"]["runs"].as_array().unwrap();
    let mut names: Vec<&str> = runs.iter().map(|run| run["thread"].as_str().unwrap()).collect();
    assert_eq!((names.len(), runs[0]["updated_at"].as_u64() >= runs[99]["updated_at"].as_u64()), (100, true));
    names.dedup();
    assert_eq!((names.len(), names.contains(&"t0")), (100, false));
    let failed = client.call("list_runs", json!({ "status": "failed" })).await;
    assert_eq!(failed["structuredContent"]["runs"], json!([]));
}

/// Sends a line to a program, and returns the next line that it prints.
fn ask(to: &mut impl Write, from: &mut impl BufRead, method: &str, params: Value) -> Value {
    writeln!(to, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).unwrap();
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn a_program_serves_the_agent_that_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    let command = command.args(["mcp", "--store"]).arg(folder.path().join("store"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let info = json!({ "name": "tried", "version": "1" });
    let hello = json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": info });
    assert_eq!(ask(&mut to, &mut from, "initialize", hello)["result"]["protocolVersion"], OLD);
    writeln!(to, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).unwrap();
    let tool = json!({ "name": "run_counter", "arguments": {} });
    let started = ask(&mut to, &mut from, "tools/call", tool);
    let wait = json!({ "name": "wait", "arguments": { "thread": started["result"]["structuredContent"]["thread"] } });
    let done = ask(&mut to, &mut from, "tools/call", wait);
    assert_eq!(done["result"]["structuredContent"]["state"]["n"], 5, "{done}");
    drop(to);
    assert!(child.wait().unwrap().success());
}

#[rstest]
#[case::claude("claude", "\"mcpServers\"")]
#[case::codex("codex", "[mcp_servers.\"agent_server\"]")]
fn the_configuration_of_an_agent_names_the_program(#[case] agent: &str, #[case] part: &str) {
    let shown = program().args(["mcp", "--install", agent]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(part) && shown.contains("--store"), "{shown}");
}
