//! Answers: who may give them, how often, of which type; and the terms of questions that clients see.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Graphs;
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, Process};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Bill {
    is_paid: bool,
    color: String,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "may_pay")]
struct MayPay {
    cents: u64,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "color")]
struct Color {}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Pay,
    Paint,
}

async fn pay(_: Arc<Bill>, ctx: Ctx) -> Result<BillUpdate, NodeError> {
    let paid = ctx.ask(MayPay { cents: 5 }).approvals(2).approvers(["ada", "ben", "cy"]).await?;
    Ok(Bill::update().is_paid(paid))
}

async fn paint(_: Arc<Bill>, ctx: Ctx) -> Result<BillUpdate, NodeError> {
    Ok(Bill::update().color(ctx.interrupt(Color {})?))
}

async fn start_with_questions() -> (Api, String, Value) {
    let graph = StateGraph::new()
        .add_node(Step::Pay, pay.asks::<MayPay>())
        .add_node(Step::Paint, paint.asks::<Color>())
        .add_edge(START, [Step::Pay, Step::Paint])
        .compile()
        .unwrap();
    let graphs = Graphs::new().with(graph.named("bill"));
    let api = Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await;
    let path = format!("/threads/{}", api.thread().await);
    let values = api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "bill", "input": {} })).await;
    (api, path, values)
}

fn question<'a>(values: &'a Value, name: &str) -> &'a Value {
    let all = values["__interrupt__"].as_array().unwrap();
    all.iter().find(|asked| asked["superstep"]["name"] == name).unwrap()
}

async fn answer(api: &Api, path: &str, command: Value) -> (StatusCode, Value) {
    let body = json!({ "assistant_id": "bill", "command": command });
    let response = api.send(Method::POST, &format!("{path}/runs/wait"), Some(body)).await;
    (response.status(), response.json().await.unwrap())
}

#[tokio::test]
async fn questions_have_terms_and_answers_are_checked_against_them() {
    let (api, path, values) = start_with_questions().await;
    let terms = &question(&values, "may_pay")["superstep"];
    assert_eq!((&terms["node"], &terms["approvals"]), (&json!("pay"), &json!(2)));
    assert_eq!((&terms["approvers"], &terms["votes"]), (&json!(["ada", "ben", "cy"]), &json!([])));
    let id = question(&values, "may_pay")["id"].as_str().unwrap();
    let vote = |value: Value, by: &str| json!({ "resume": { id: value }, "by": by });

    let (status, error) = answer(&api, &path, vote(json!(true), "eve")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{error}");
    let (status, error) = answer(&api, &path, vote(json!("yes"), "ada")).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{error}");
    let (status, error) = answer(&api, &path, json!({ "resume": true, "by": "ada" })).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "two questions are open: {error}");

    let (status, values) = answer(&api, &path, vote(json!(true), "ada")).await;
    assert_eq!(status, StatusCode::OK);
    let votes = &question(&values, "may_pay")["superstep"]["votes"];
    assert_eq!((&votes[0]["by"], &votes[0]["value"]), (&json!("ada"), &json!(true)));
    let (status, error) = answer(&api, &path, vote(json!(true), "ada")).await;
    assert_eq!(status, StatusCode::CONFLICT, "{error}");

    let color = question(&values, "color")["id"].as_str().unwrap();
    let both = json!({ "resume": { id: true, color: "red" }, "by": "ben", "note": "fine" });
    let (status, values) = answer(&api, &path, both).await;
    assert_eq!((status, &values), (StatusCode::OK, &json!({ "is_paid": true, "color": "red" })));
    let (status, error) = answer(&api, &path, vote(json!(true), "cy")).await;
    assert!(status.is_client_error(), "{error}");
}

#[tokio::test]
async fn one_of_two_answers_at_once_is_refused() {
    for _ in 0..20 {
        let (api, path, values) = start_with_questions().await;
        let color = question(&values, "color")["id"].as_str().unwrap();
        let give = |value: &'static str| answer(&api, &path, json!({ "resume": { color: value } }));
        let (red, blue) = tokio::join!(give("red"), give("blue"));
        let mut statuses = [red.0.as_u16(), blue.0.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", red.1, blue.1);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_answer_of_a_command_is_taken_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (_process, api) = Process::start(&store);
    let path = format!("/threads/{}", api.thread().await);
    api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "approval", "input": { "request": "x" } })).await;
    let thread = path.rsplit('/').next().unwrap();
    let output = Process::command(&store, &["resume", thread, "--answer", "\"yes\"", "--record-only"]);
    assert!(output.status.success(), "{output:?}");
    loop {
        let thread = api.get(&path).await;
        if thread["status"] == "idle" {
            assert_eq!(thread["values"]["status"], "approved");
            break;
        }
    }
    let runs = api.get(&format!("{path}/runs")).await;
    assert_eq!(runs.as_array().unwrap().len(), 2, "what went on by itself is a run too");
}
