//! The routes of a server in a program that has routes and a login of its own. The guide's page on embedding shows it.

use std::sync::Arc;

// <embedded>
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use superstep::checkpoint::Checkpointer;
use superstep::graph::Graphs;
use superstep_server::{Caller, KeyRole, Options};

/// Returns the routes of a program, with those of its graphs below `/agents` for people who have logged in.
fn routes(graphs: Graphs, store: Arc<dyn Checkpointer>) -> Router {
    let agents = Options::default().allow_origin("https://chat.example.com").router(graphs, store);
    Router::new().route("/", get(async || "a page")).nest("/agents", agents.layer(from_fn(log_in)))
}

/// Refuses who has not logged in. The name goes into answers, the role decides what may be sent.
async fn log_in(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let name = user_of(request.headers()).ok_or(StatusCode::UNAUTHORIZED)?;
    request.extensions_mut().insert(Caller { name, role: KeyRole::Run });
    Ok(next.run(request).await)
}
// </embedded>

/// Returns the user of a session.
fn user_of(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("x-session")?.to_str().ok()?.to_owned())
}

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;

use crate::api::all_graphs;

#[tokio::test]
async fn a_program_has_the_routes_of_its_graphs_behind_its_own_login() {
    let program = routes(all_graphs().unwrap(), Arc::new(MemoryCheckpointer::new()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, program).await });
    let client = Client::new();
    let request = |method, path: &str| client.request(method, format!("{address}{path}"));
    let of_ann = |request: RequestBuilder| request.header("x-session", "ann").send();
    assert_eq!(request(Method::GET, "/").send().await.unwrap().text().await.unwrap(), "a page");
    assert_eq!(request(Method::GET, "/agents/info").send().await.unwrap().status(), 401);

    let wait = |body: Value| of_ann(request(Method::POST, "/agents/threads/t/runs/wait").json(&body));
    let start = json!({ "assistant_id": "approval", "if_not_exists": "create", "input": { "request": "x" } });
    assert_eq!(wait(start).await.unwrap().status(), 200);
    let answer = json!({ "assistant_id": "approval", "command": { "resume": "yes", "by": "the boss" } });
    let done: Value = wait(answer).await.unwrap().json().await.unwrap();
    assert_eq!(done["status"], "approved");
    assert_eq!(of_ann(request(Method::DELETE, "/agents/threads/t")).await.unwrap().status(), 403);
}
