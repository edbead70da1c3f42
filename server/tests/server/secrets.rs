//! Secret channels, which leave by no route, and threads that were imported, which no route runs.

use std::sync::Arc;

use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{
    Checkpointer, ExportOptions, ImportOptions, MemoryCheckpointer, export_thread, import_thread, trust,
};
use superstep::graph::Graphs;
use superstep::prelude::*;
use superstep_server::Options;

use crate::api::{Api, all_graphs};

/// The value of the secret channel.
const SECRET: &str = "correct-horse-battery";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
struct Vault {
    #[channel(secret)]
    token: String,
    #[channel(append)]
    log: Vec<String>,
    fails: bool,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String, name = "confirm")]
struct Confirm {
    text: String,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Open,
    Ask,
    Close,
}

/// Copies the secret to all places that a node can write to.
async fn open(state: Arc<Vault>, ctx: Ctx) -> Result<VaultUpdate, NodeError> {
    ctx.emit(json!({ "copy": state.token, "text": format!("it is {}", state.token) })).await;
    ctx.emit_message(format!("token {}", state.token)).await;
    Ok(Vault::update().log([format!("opened with {}", state.token)]))
}

async fn ask(state: Arc<Vault>, ctx: Ctx) -> Result<VaultUpdate, NodeError> {
    let answer = ctx.interrupt(Confirm { text: format!("use {}?", state.token) })?;
    Ok(Vault::update().log([answer]))
}

async fn close(state: Arc<Vault>, _: Ctx) -> Result<VaultUpdate, NodeError> {
    match state.fails {
        true => Err(NodeError::permanent(format!("{} does not open it", state.token))),
        false => Ok(Vault::update().token(state.token.clone())),
    }
}

async fn vault() -> Api {
    let graph = StateGraph::new()
        .add_node(Step::Open, open)
        .add_node(Step::Ask, ask.asks::<Confirm>())
        .add_node(Step::Close, close)
        .add_sequence([Step::Open, Step::Ask, Step::Close])
        .compile()
        .unwrap();
    let graphs = Graphs::new().with(graph.named("vault"));
    Api::start_graphs(graphs, Options::default(), Arc::new(MemoryCheckpointer::new())).await
}

/// Sends a request, and returns the text of the answer, which must not have the secret.
async fn text(api: &Api, method: Method, path: &str, body: Option<Value>) -> String {
    let answer = api.send(method.clone(), path, body).await;
    let headers = format!("{:?}", answer.headers());
    let text = answer.text().await.unwrap();
    assert!(!text.contains(SECRET) && !headers.contains(SECRET), "{method} {path}: {headers} {text}");
    text
}

#[rstest]
#[case::that_succeeds(false)]
#[case::that_fails(true)]
#[tokio::test]
async fn a_secret_leaves_by_no_route_of_a_run(#[case] fails: bool) {
    let api = vault().await;
    let path = format!("/threads/{}", api.thread().await);
    let modes = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"];
    let start = json!({
        "assistant_id": "vault", "input": { "token": SECRET, "fails": fails }, "stream_mode": modes,
        "stream_resumable": true, "stream_subgraphs": true
    });
    let events = text(&api, Method::POST, &format!("{path}/runs/stream"), Some(start)).await;
    assert!(events.contains("it is [secret]") && events.contains("use [secret]?"), "{events}");
    read_all(&api, &path).await;
    let answer = json!({ "assistant_id": "vault", "command": { "resume": SECRET }, "stream_mode": modes });
    let end = text(&api, Method::POST, &format!("{path}/runs/stream"), Some(answer)).await;
    assert_eq!(end.contains("[secret] does not open it"), fails, "{end}");
    read_all(&api, &path).await;
    let update = json!({ "values": { "token": SECRET }, "as_node": "open" });
    text(&api, Method::POST, &format!("{path}/state"), Some(update)).await;
    let input = json!({ "token": SECRET });
    let cron = json!({ "assistant_id": "vault", "schedule": "0 0 1 1 *", "input": input });
    text(&api, Method::POST, &format!("{path}/runs/crons"), Some(cron)).await;
    text(&api, Method::POST, "/runs/batch", Some(json!([{ "assistant_id": "vault", "input": input }]))).await;
    let wait = json!({ "assistant_id": "vault", "command": { "update": { "token": SECRET }, "goto": "open" } });
    text(&api, Method::POST, &format!("{path}/runs/wait"), Some(wait)).await;
    read_all(&api, &path).await;
}

/// Reads all that there is of a thread.
async fn read_all(api: &Api, path: &str) {
    let get = |path: String| async move { text(api, Method::GET, &path, None).await };
    let runs: Value = serde_json::from_str(&get(format!("{path}/runs")).await).unwrap();
    for run in runs.as_array().unwrap() {
        let run = format!("{path}/runs/{}", run["run_id"].as_str().unwrap());
        get(run.clone()).await;
        get(format!("{run}/join")).await;
        let again = api.client.get(format!("{}{run}/stream", api.address)).header("last-event-id", "-1");
        assert!(!again.send().await.unwrap().text().await.unwrap().contains(SECRET), "{run}");
    }
    get(path.to_owned()).await;
    get(format!("{path}/state")).await;
    let history: Value = serde_json::from_str(&get(format!("{path}/history?limit=100")).await).unwrap();
    for state in history.as_array().unwrap() {
        get(format!("{path}/state/{}", state["checkpoint_id"].as_str().unwrap())).await;
    }
    for (path, body) in [
        (format!("{path}/history"), json!({ "limit": 100 })),
        ("/threads/search".to_owned(), json!({})),
        ("/assistants/search".to_owned(), json!({})),
        ("/runs/crons/search".to_owned(), json!({})),
        (format!("{path}/copy"), json!({})),
    ] {
        text(api, Method::POST, &path, Some(body)).await;
    }
    let filter = json!({ "values": { "token": SECRET } });
    assert_eq!(api.post("/threads/count", filter).await, 0, "a filter finds no secret");
}

#[tokio::test]
async fn an_error_about_a_secret_does_not_have_it() {
    let api = vault().await;
    let path = format!("/threads/{}", api.thread().await);
    for token in [json!({ "a": SECRET }), json!([SECRET])] {
        let input = json!({ "assistant_id": "vault", "input": { "token": token } });
        let refused = text(&api, Method::POST, &format!("{path}/runs"), Some(input)).await;
        assert!(refused.contains("token"), "{refused}");
    }
}

async fn with_imported() -> (Api, Arc<MemoryCheckpointer>) {
    let (first, second) = (Arc::new(MemoryCheckpointer::new()), Arc::new(MemoryCheckpointer::new()));
    let elsewhere = Api::start_with(Options::default(), first.clone()).await;
    let body = json!({ "assistant_id": "approval", "input": { "request": "x" }, "if_not_exists": "create" });
    elsewhere.post("/threads/foreign/runs/wait", body).await;
    let mut file = vec![];
    export_thread(&*first, &"foreign".into(), &ExportOptions::new(), &mut file).await.unwrap();
    import_thread(&*second, &file[..], &ImportOptions::new()).await.unwrap();
    let store: Arc<dyn Checkpointer> = second.clone();
    (Api::start_graphs(all_graphs().unwrap(), Options::default(), store).await, second)
}

#[rstest]
#[case::by_a_program(false)]
#[case::by_a_client(true)]
#[tokio::test]
async fn an_imported_thread_is_read_and_not_run_until_it_is_trusted(#[case] by_route: bool) {
    let (api, store) = with_imported().await;
    assert_eq!(api.get("/threads/foreign/state").await["values"]["proposal"], "do x");
    let answer = json!({ "assistant_id": "approval", "command": { "resume": "yes" } });
    let mut created = answer.clone();
    created["if_not_exists"] = "create".into();
    let input = json!({ "assistant_id": "approval", "input": { "request": "y" } });
    let update = json!({ "values": { "status": "approved" } });
    let refused = [("runs", answer.clone()), ("runs/wait", created), ("runs/stream", input), ("state", update)];
    for (path, body) in refused {
        let refused = api.send(Method::POST, &format!("/threads/foreign/{path}"), Some(body)).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
        let detail: Value = refused.json().await.unwrap();
        assert!(detail["detail"].as_str().unwrap().contains("is not trusted"), "{detail}");
    }
    let copy = api.post("/threads/foreign/copy", json!({})).await;
    let copied = format!("/threads/{}/runs/wait", copy["thread_id"].as_str().unwrap());
    let failed = api.post(&copied, answer.clone()).await;
    assert!(failed.to_string().contains("is not trusted"), "{failed}");
    // A client that creates the name here does not make the thread this server's own.
    api.post("/threads", json!({ "thread_id": "foreign" })).await;
    for body in [answer.clone(), json!({ "assistant_id": "approval", "input": null })] {
        let refused = api.send(Method::POST, "/threads/foreign/runs/wait", Some(body)).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        let detail: Value = refused.json().await.unwrap();
        assert!(detail["detail"].as_str().unwrap().contains("is not trusted"), "{detail}");
    }
    assert_eq!(api.get("/threads/foreign/runs").await, json!([]), "no run is stored");
    assert_eq!(api.get("/threads/foreign/state").await["values"]["status"], Value::Null);
    if by_route {
        assert_eq!(api.post("/threads/foreign/trust", json!({})).await["thread_id"], "foreign");
    } else {
        trust(&*store, &"foreign".into()).await.unwrap();
    }
    assert_eq!(api.post("/threads/foreign/runs/wait", answer).await["status"], "approved");
}
