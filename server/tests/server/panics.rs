//! Panics in the code of a program: each is an error of its request, and ends no connection and no run of others.

use std::borrow::Cow;
use std::sync::Arc;

use reqwest::{Client, Method, StatusCode};
use rstest::rstest;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Graphs;
use superstep::prelude::*;
use superstep_server::{InputReader, Options};

use crate::api::{Api, all_graphs};
use crate::mcp_client::{McpClient, NEW};

/// A type whose schema panics.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursed(String);

impl JsonSchema for Cursed {
    fn schema_name() -> Cow<'static, str> {
        "Cursed".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        panic!("out of ink")
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Scroll {
    text: Cursed,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Write,
}

async fn write(_: Arc<Scroll>, _: Ctx) -> Result<ScrollUpdate, NodeError> {
    Ok(Scroll::update())
}

/// A reader that panics.
struct Blind;

impl InputReader for Blind {
    fn schema(&self) -> Value {
        json!({})
    }

    fn read(&self, _: Option<&str>, _: &Map<String, Value>) -> Result<Value, String> {
        panic!("out of ink")
    }
}

async fn start() -> Api {
    let scroll = StateGraph::new().add_node(Step::Write, write).add_edge(START, Step::Write).compile().unwrap();
    let graphs: Graphs = all_graphs().unwrap().with(scroll.named("scroll"));
    let options = Options::default().read_inputs("counter", Blind);
    let api = Api::start_graphs(graphs, options, Arc::new(MemoryCheckpointer::new())).await;
    // One connection, which must outlive the panics.
    let client = Client::builder().pool_max_idle_per_host(1).build().unwrap();
    Api { client, ..api }
}

async fn assistant(api: &Api) -> String {
    let found = api.post("/assistants/search", json!({ "graph_id": "scroll" })).await;
    found[0]["assistant_id"].as_str().unwrap().to_owned()
}

#[rstest]
#[case::schemas(Method::GET, "/assistants/{scroll}/schemas", json!(null))]
#[case::an_input(Method::POST, "/threads/t/runs", json!({ "assistant_id": "scroll", "input": { "text": "x" }, "if_not_exists": "create" }))]
#[case::a_stream(Method::POST, "/runs/stream", json!({ "assistant_id": "scroll", "input": { "text": "x" } }))]
#[case::a_reader(Method::POST, "/runs/wait", json!({ "assistant_id": "counter", "input": { "n": 1 } }))]
#[tokio::test]
async fn a_panic_is_an_error_of_its_request(#[case] method: Method, #[case] path: &str, #[case] body: Value) {
    let api = start().await;
    let path = path.replace("{scroll}", &assistant(&api).await);
    for _ in 0..2 {
        let answer = api.send(method.clone(), &path, Some(body.clone()).filter(|body| !body.is_null())).await;
        let (status, detail) = (answer.status(), answer.json::<Value>().await.unwrap());
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{detail}");
        assert_eq!(
            detail,
            json!({ "detail": "the code of the program panicked: the reason is on its standard error" })
        );
    }
    assert_eq!(api.get("/ok").await, json!({ "ok": true }));
    let other = json!({ "assistant_id": "approval", "input": { "request": "x" }, "if_not_exists": "create" });
    assert_eq!(api.post("/threads/other/runs/wait", other).await["proposal"], "do x");
}

#[tokio::test]
async fn tools_of_other_graphs_are_there_although_a_schema_panics() {
    let api = start().await;
    let client = McpClient::of(&api, NEW, json!({}));
    let listed = client.request("tools/list", json!({})).await.to_string();
    assert!(listed.contains("run_approval") && listed.contains("run_scroll"), "{listed}");
    let refused = client.request("tools/call", json!({ "name": "run_scroll", "arguments": { "text": "x" } })).await;
    assert!(refused.to_string().contains("panicked"), "{refused}");
    assert_eq!(api.get("/ok").await, json!({ "ok": true }));
}
