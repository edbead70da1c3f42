//! A client of the Model Context Protocol: it starts a task, and polls it once, over one connection.

use serde_json::{Value, json};

use super::{Outcome, Target};

/// The version of the protocol that has tasks.
const VERSION: &str = "2026-07-28";

/// Starts a run of the graph `counter` as a task, and has its first poll answered.
pub(crate) async fn start_and_poll(target: &Target) -> Outcome<()> {
    let call = json!({ "name": "run_counter", "arguments": { "n": 0 } });
    let task = send(target, "tools/call", "run_counter", call).await?;
    let id = task["taskId"].as_str().ok_or_else(|| format!("no task: {task}"))?;
    let polled = send(target, "tasks/get", id, json!({ "taskId": id })).await?;
    match polled["status"].as_str() {
        Some("working" | "completed") => Ok(()),
        _ => Err(format!("an unexpected answer: {polled}").into()),
    }
}

/// Sends a request; returns its result.
async fn send(target: &Target, method: &str, name: &str, mut params: Value) -> Outcome<Value> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = target.client.post(format!("{}/mcp", target.address)).json(&body);
    let request = request.header("accept", "application/json, text/event-stream").header("mcp-method", method);
    let response = request.header("mcp-protocol-version", VERSION).header("mcp-name", name).send().await?;
    let mut answer: Value = response.error_for_status()?.json().await?;
    Ok(answer["result"].take())
}
