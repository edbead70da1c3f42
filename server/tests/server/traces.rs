//! Traces as a collector gets them: a real server exports them over HTTP.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::api::{Process, program};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const SECRET: &str = "the text of a payload";

/// A span as it was sent.
#[derive(Debug)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
    kind: u64,
    attributes: HashMap<String, Vec<u8>>,
}

impl Span {
    fn read(message: &[u8]) -> Self {
        let (fields, hex) = (fields(message), |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect());
        let bytes = |number| fields.iter().find(|field| field.0 == number).map_or(&[][..], |field| field.2);
        let pairs = fields.iter().filter(|field| field.0 == 9).map(|field| self::fields(field.2));
        let attributes = pairs.map(|pair| {
            let key = String::from_utf8(pair[0].2.to_vec()).unwrap();
            let value = &self::fields(pair[1].2)[0];
            (key, if value.2.is_empty() { value.1.to_string().into_bytes() } else { value.2.to_vec() })
        });
        Self {
            trace: hex(bytes(1)),
            id: hex(bytes(2)),
            parent: hex(bytes(4)),
            name: String::from_utf8(bytes(5).to_vec()).unwrap(),
            kind: fields.iter().find(|field| field.0 == 6).map_or(0, |field| field.1),
            attributes: attributes.collect(),
        }
    }

    fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", |value| std::str::from_utf8(value).unwrap())
    }
}

/// Returns the fields of a message of protobuf: their numbers, and what they have as a number or as bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let tag = number(&mut message);
        let (value, length) = match tag & 7 {
            0 => (number(&mut message), 0),
            1 => (0, 8),
            2 => (0, number(&mut message) as usize),
            _ => (0, 4),
        };
        let (bytes, rest) = message.split_at(length);
        fields.push((tag >> 3, value, bytes));
        message = rest;
    }
    fields
}

fn number(message: &mut &[u8]) -> u64 {
    let length = message.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let (bytes, rest) = message.split_at(length);
    *message = rest;
    bytes.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
}

/// Returns the messages in a field of a message.
fn inner(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(message).into_iter().filter(move |field| field.0 == number).map(|field| field.2)
}

fn spans(export: &[u8]) -> Vec<Span> {
    let scopes = inner(export, 1).flat_map(|resource| inner(resource, 2));
    scopes.flat_map(|scope| inner(scope, 2)).map(Span::read).collect()
}

/// Returns the address of a collector, and what it gets.
async fn collector() -> (String, UnboundedReceiver<Bytes>) {
    let (sender, exports) = unbounded_channel();
    let take = async move |headers: HeaderMap, body: Bytes| {
        assert_eq!(headers["content-type"], "application/x-protobuf");
        sender.send(body).unwrap();
        Json(json!({}))
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, exports)
}

/// Runs a graph on a server that is stopped then, and returns what the collector got.
async fn export_run(run: Value, parent: &str) -> Vec<Bytes> {
    let (address, mut exports) = collector().await;
    let store = tempfile::tempdir().unwrap();
    let mut command = program();
    command.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(store.path());
    let (mut server, api) = Process::of(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", address));
    let request = api.client.post(format!("{}/threads/first/runs/wait", api.address)).json(&run);
    let answer = request.header("traceparent", parent).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    answer.text().await.unwrap();
    server.stop();
    exports.close();
    std::iter::from_fn(|| exports.try_recv().ok()).collect()
}

#[rstest]
#[case::of_a_message("chat_echo", json!({ "messages": [{ "role": "user", "content": SECRET }] }), &["echo"], "")]
#[case::that_fails("fails", json!({ "reason": SECRET }), &["ok", "boom"], "NodeError")]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_part_of_the_trace_of_its_request_without_payloads(
    #[case] graph: &str,
    #[case] input: Value,
    #[case] nodes: &[&str],
    #[case] error: &str,
) {
    let run = json!({ "assistant_id": graph, "input": input, "if_not_exists": "create" });
    let exports = export_run(run, &format!("00-{TRACE}-{CALLER}-01")).await;
    let spans: Vec<Span> = exports.iter().flat_map(|export| spans(export)).collect();
    let named = |name: &str| {
        let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name}: {spans:#?}");
        found[0]
    };

    let request = named("POST /threads/{thread}/runs/wait");
    assert_eq!((&*request.trace, &*request.parent, request.kind), (TRACE, CALLER, 2));
    assert_eq!(request.attribute("http.request.method"), "POST");
    assert_eq!(request.attribute("http.route"), "/threads/{thread}/runs/wait");
    assert_eq!(request.attribute("http.response.status_code"), "200");
    let run = named(&format!("invoke_workflow {graph}"));
    assert_eq!((&*run.trace, &*run.parent), (TRACE, &*request.id));
    assert_eq!(run.attribute("gen_ai.operation.name"), "invoke_workflow");
    assert_eq!(run.attribute("gen_ai.agent.name"), graph);
    assert_eq!(run.attribute("gen_ai.conversation.id"), "first");
    assert_eq!(run.attribute("error.type"), error);
    for node in nodes {
        let task = named(&format!("task {node}"));
        assert_eq!((&*task.trace, &*task.parent), (TRACE, &*run.id));
    }

    let is_in =
        |text: &str| exports.iter().any(|export| export.windows(text.len()).any(|part| part == text.as_bytes()));
    assert!(is_in("agent_server"), "the name of the service is that of the program");
    assert!(!is_in(SECRET));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_its_client_does_not_sample_is_not_exported() {
    let run = json!({ "assistant_id": "counter", "input": {}, "if_not_exists": "create" });
    assert_eq!(export_run(run, &format!("00-{TRACE}-{CALLER}-00")).await, Vec::<Bytes>::new());
}
