//! The schemas, the drawing and the subgraphs of an assistant's graph, and inputs that do not fit.

use std::sync::Arc;

use reqwest::{Client, Method};
use rstest::rstest;
use schemars::JsonSchema;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::{AnyGraph, Graphs};
use superstep::prelude::*;

use crate::api::Api;

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Item {
    name: String,
    count: u8,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Order {
    /// Who ordered.
    customer: String,
    #[channel(append)]
    items: Vec<Item>,
    #[channel(secret)]
    token: u32,
}

#[derive(Interrupt, Serialize, Deserialize, JsonSchema)]
#[interrupt(resume = Price, name = "price", schema)]
struct AskPrice {
    question: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Price {
    cents: u32,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    First,
    Child,
    Last,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Inner {
    A,
    B,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Leaf {
    Turn,
}

#[derive(Route)]
enum AfterTurn {
    #[to(Leaf::Turn)]
    Again,
    #[to(END)]
    Enough,
}

fn after_turn(order: &Order) -> AfterTurn {
    if order.items.is_empty() { AfterTurn::Enough } else { AfterTurn::Again }
}

async fn nothing(_: Arc<Order>, _: Ctx) -> Result<(), NodeError> {
    Ok(())
}

async fn price(_: Arc<Order>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.interrupt(AskPrice { question: "how much?".into() })?;
    Ok(())
}

fn order() -> Result<CompiledGraph<Order, Step>, CompileError> {
    let leaf = StateGraph::new()
        .add_node(Leaf::Turn, nothing)
        .add_edge(START, Leaf::Turn)
        .add_conditional_edges(Leaf::Turn, after_turn)
        .compile()?;
    let child = StateGraph::new()
        .add_node(Inner::A, nothing)
        .add_subgraph(Inner::B, leaf)
        .add_sequence([Inner::A, Inner::B])
        .compile()?;
    StateGraph::new()
        .add_node(Step::First, nothing)
        .add_subgraph(Step::Child, child)
        .add_node(Step::Last, price.asks::<AskPrice>())
        .add_sequence([Step::First, Step::Child, Step::Last])
        .compile()
}

/// Starts a server over the graph `order`; returns the path of its assistant too.
async fn start() -> (Api, String) {
    let graphs = Graphs::new().with(AnyGraph::with(order().unwrap().named("order"), ()));
    let router = superstep_server::Options::default().router(graphs, Arc::new(MemoryCheckpointer::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let api = Api { client: Client::new(), address };
    let found = api.post("/assistants/search", json!({ "graph_id": "order" })).await;
    let path = format!("/assistants/{}", found[0]["assistant_id"].as_str().unwrap());
    (api, path)
}

#[tokio::test]
async fn schemas_describe_the_graph_of_an_assistant() {
    let (api, path) = start().await;
    let schemas = api.get(&format!("{path}/schemas")).await;
    assert_eq!((&schemas["graph_id"], &schemas["config_schema"]), (&json!("order"), &json!({})));
    assert_eq!(schemas["context_schema"], Value::Null);
    let input = &schemas["input_schema"];
    assert_eq!(input["properties"]["customer"], json!({ "type": "string", "description": "Who ordered." }));
    assert_eq!(input["properties"]["items"], json!({ "type": "array", "items": { "$ref": "#/$defs/Item" } }));
    assert_eq!(input["$defs"]["Item"]["required"], json!(["name", "count"]));
    let names = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(input), ["customer", "items", "token"]);
    assert_eq!(
        (names(&schemas["state_schema"]), names(&schemas["output_schema"])),
        (vec!["customer".to_owned(), "items".to_owned()], vec!["customer".to_owned(), "items".to_owned()])
    );
}

#[rstest]
#[case::folded("", &["__start__", "child", "first", "last", "__end__"], &[
    "__start__ -> first", "first -> child", "child -> last", "last -> __end__",
])]
#[case::one_level("?xray=1", &["__start__", "child:a", "child:b", "first", "last", "__end__"], &[
    "child:a -> child:b", "__start__ -> first", "first -> child:a", "child:b -> last", "last -> __end__",
])]
#[case::all("?xray=true", &[
    "__start__", "child:a", "child:b:__start__", "child:b:turn", "child:b:__end__", "first", "last",
    "__end__",
], &[
    "child:b:__start__ -> child:b:turn",
    "child:b:turn ?> child:b:turn Again", "child:b:turn ?> child:b:__end__ Enough",
    "child:a -> child:b:__start__", "__start__ -> first", "first -> child:a", "child:b:__end__ -> last", "last -> __end__",
])]
#[tokio::test]
async fn a_graph_is_drawn_with_as_many_levels_as_a_client_asks(
    #[case] query: &str,
    #[case] nodes: &[&str],
    #[case] edges: &[&str],
) {
    let (api, path) = start().await;
    let graph = api.get(&format!("{path}/graph{query}")).await;
    let ids: Vec<&str> = graph["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    assert_eq!(ids, nodes);
    let line = |edge: &Value| {
        let arrow = if edge["conditional"] == true { "?>" } else { "->" };
        let text = |name: &str| edge[name].as_str().unwrap_or_default().to_owned();
        format!("{} {arrow} {} {}", text("source"), text("target"), text("data")).trim_end().to_owned()
    };
    assert_eq!(graph["edges"].as_array().unwrap().iter().map(line).collect::<Vec<_>>(), edges);
    assert_eq!(graph["nodes"][1]["type"], "runnable");
    assert_eq!(graph["nodes"].as_array().unwrap().last(), Some(&json!({ "id": "__end__" })));
}

#[rstest]
#[case::top("/subgraphs", &["child"])]
#[case::all("/subgraphs?recurse=true", &["child", "child|b"])]
#[case::one("/subgraphs/child", &["child"])]
#[case::deep("/subgraphs/child%7Cb?recurse=true", &["child|b"])]
#[case::none("/subgraphs/other", &[])]
#[tokio::test]
async fn subgraphs_are_listed_with_their_schemas(#[case] query: &str, #[case] names: &[&str]) {
    let (api, path) = start().await;
    let found = api.get(&format!("{path}{query}")).await;
    let found = found.as_object().unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), names);
    for schemas in found.values() {
        assert_eq!(schemas["input_schema"]["properties"]["token"]["writeOnly"], true);
        assert_eq!(schemas.get("graph_id"), None);
    }
}

#[rstest]
#[case::type_of_a_field(json!({ "customer": 3 }), "input.customer: 3 is not of type \"string\"")]
#[case::item(json!({ "items": [{ "name": "a", "count": 1 }, { "name": "b" }] }), "input.items[1]: \"count\" is a required property")]
#[case::field_of_an_item(json!({ "items": [{ "name": "a", "count": 999 }] }), "input.items[0].count: 999 is greater than the maximum of 255")]
#[case::secret(json!({ "token": "hush" }), "input.token: value is not of type \"integer\"")]
#[case::beyond_the_schema(json!({ "token": 99_999_999_999_u64 }), "input.token: takes `u32`: the reason is hidden because the channel is secret")]
#[case::overwrite(json!({ "items": { "$overwrite": 3 } }), "input.items: takes `Vec<Item>`: invalid type: integer `3`, expected a sequence")]
#[case::several(json!({ "customer": 3, "items": 4 }), "input.customer: 3 is not of type \"string\"; input.items: 4 is not of type \"array\"")]
#[tokio::test]
async fn an_input_that_does_not_fit_is_refused_by_its_field(#[case] input: Value, #[case] detail: &str) {
    let (api, _) = start().await;
    let request = json!({ "assistant_id": "order", "input": input });
    let response = api.send(Method::POST, "/runs/wait", Some(request)).await;
    assert_eq!(response.status(), 422);
    assert_eq!(response.json::<Value>().await.unwrap()["detail"], detail);
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_a_question_has_the_schema_of_its_answer() {
    let (api, _) = start().await;
    let path = format!("/threads/{}", api.thread().await);
    let input = json!({ "customer": "ada", "unknown": { "customer": 3 }, "items": { "$overwrite": [] } });
    let asked = api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "order", "input": input })).await;
    assert_eq!(asked["customer"], "ada");
    let schema = &asked["__interrupt__"][0]["response_schema"];
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["cents"])));
    let values = json!({ "values": { "items": [3] } });
    let refused = api.send(Method::POST, &format!("{path}/state"), Some(values)).await;
    assert_eq!(refused.status(), 422);
    let detail = refused.json::<Value>().await.unwrap()["detail"].clone();
    assert_eq!(detail, "values.items[0]: 3 is not of type \"object\"");
}

#[rstest]
#[case::levels("/graph?xray=deep", 422, "`xray` is `true`, `false` or a number of levels")]
#[case::assistant("/../00000000-0000-4000-8000-000000000000/schemas", 404, "there is no assistant")]
#[case::name("/../order/schemas", 422, "`order` is no id of an assistant")]
#[tokio::test]
async fn what_cannot_be_described_is_named(#[case] end: &str, #[case] status: u16, #[case] detail: &str) {
    let (api, path) = start().await;
    let response = api.send(Method::GET, &format!("{path}{end}"), None).await;
    assert_eq!(response.status(), status);
    let body: Value = response.json().await.unwrap();
    assert!(body["detail"].as_str().unwrap().contains(detail), "{body}");
}
