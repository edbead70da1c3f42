//! Roles and names of keys in the protocols beside the runs: commands of the event protocol, WebSockets, and tools of MCP.

use futures::{SinkExt, StreamExt};
use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep_server::KeyRole;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Request;

use crate::security::Locked;

/// Starts a thread that asks, and returns the id of its question.
async fn ask(locked: &Locked, thread: &str) -> String {
    let body = json!({ "assistant_id": "approval", "input": { "request": "x" }, "if_not_exists": "create" });
    let (_, values) = locked.post(KeyRole::Run, &format!("/threads/{thread}/runs/wait"), &body).await;
    values["__interrupt__"][0]["id"].as_str().unwrap().to_owned()
}

/// Returns the name under which the newest run of a thread answers.
async fn answered_by(locked: &Locked, thread: &str) -> Value {
    let runs = locked.request(KeyRole::Read, Method::GET, &format!("/threads/{thread}/runs")).send().await.unwrap();
    runs.json::<Value>().await.unwrap()[0]["kwargs"]["command"]["by"].clone()
}

#[tokio::test]
async fn a_command_answers_under_the_name_of_its_key() {
    let locked = Locked::start().await;
    let id = ask(&locked, "t").await;
    let command = |params: Value| json!({ "id": 1, "method": "input.respond", "params": params });
    let path = "/threads/t/commands";
    let more = command(json!({ "interrupt_id": id, "namespace": [], "response": "yes", "update": { "status": "x" } }));
    let answer = command(json!({ "interrupt_id": id, "namespace": [], "response": "yes", "by": "the boss" }));
    assert_eq!(locked.post(KeyRole::Read, path, &answer).await.0, StatusCode::FORBIDDEN);
    assert_eq!(locked.post(KeyRole::Answer, path, &more).await.0, StatusCode::FORBIDDEN);
    let (status, answered) = locked.post(KeyRole::Answer, path, &answer).await;
    assert_eq!((status, &answered["type"]), (StatusCode::OK, &json!("success")), "{answered}");
    assert_eq!(answered_by(&locked, "t").await, "answer");
}

fn socket_request(locked: &Locked, role: KeyRole) -> Request<()> {
    let address = format!("{}/threads/t/stream/events", locked.api.address.replace("http", "ws"));
    let mut request = address.into_client_request().unwrap();
    request.headers_mut().insert("x-api-key", locked.key(role).parse().unwrap());
    request
}

#[tokio::test]
async fn a_socket_has_the_role_and_the_name_of_its_key_until_it_is_revoked() {
    let locked = Locked::start().await;
    let id = ask(&locked, "t").await;
    assert!(connect_async(socket_request(&locked, KeyRole::Answer)).await.is_err());
    let (mut socket, _) = connect_async(socket_request(&locked, KeyRole::Run)).await.unwrap();
    let params = json!({ "interrupt_id": id, "namespace": [], "response": "yes", "by": "the boss" });
    let command = json!({ "id": 1, "method": "input.respond", "params": params }).to_string();
    socket.send(Message::text(command.clone())).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
    assert!(answer.contains(r#""type":"success""#), "{answer}");
    assert_eq!(answered_by(&locked, "t").await, "run");
    locked.revoke(KeyRole::Run);
    socket.send(Message::text(command)).await.unwrap();
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else { panic!("the socket is open") };
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (4401, "the key was revoked"));
}

#[rstest]
#[case("list_runs", json!({}), KeyRole::Read)]
#[case("run_counter", json!({ "n": 1 }), KeyRole::Run)]
#[tokio::test]
async fn a_tool_needs_the_role_of_what_it_does(#[case] tool: &str, #[case] arguments: Value, #[case] needed: KeyRole) {
    let locked = Locked::start().await;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments }
    });
    for role in KeyRole::ALL {
        let request = locked.request(role, Method::POST, "/mcp").header("mcp-protocol-version", "2025-06-18");
        let request = request.header("accept", "application/json, text/event-stream");
        let answer = request.json(&body).send().await.unwrap().text().await.unwrap();
        let refusal = format!("the key `{role}` has no right to do this: it needs the role {needed}");
        assert_eq!(answer.contains(&refusal), role < needed, "{role}: {answer}");
        assert!(answer.contains("\"result\"") || role < needed, "{role}: {answer}");
    }
}
