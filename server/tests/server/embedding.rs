//! The routes of a server in a program that has routes and a login of its own. The guide's page on embedding shows it.

use std::sync::Arc;

// <embedded>
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use superstep::checkpoint::Checkpointer;
use superstep::graph::{CancellationToken, Graphs};
use superstep_server::{Caller, KeyRole, Options};
use tokio::net::TcpListener;

/// The state of a program that is there already.
#[derive(Clone)]
struct Shop {
    graphs: Graphs,
    store: Arc<dyn Checkpointer>,
}

/// Returns the routes of the program, with those of its graphs below `/agents` for people who have logged in.
fn routes(shop: Shop, options: Options) -> Router {
    let options = options.allow_origin("https://chat.example.com");
    let agents = superstep_server::router(shop.graphs.clone(), Arc::clone(&shop.store), options);
    Router::new()
        .route("/", get(async || "a page"))
        .with_state(shop) // before others are nested: their state is another
        .nest("/agents", agents.layer(from_fn(log_in)))
}

/// Refuses who has not logged in. The name goes into answers, the role decides what may be sent.
async fn log_in(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    if request.method() == Method::OPTIONS {
        return Ok(next.run(request).await); // a browser asks before a page may send, and has no login with that
    }
    let name = user_of(request.headers()).ok_or(StatusCode::UNAUTHORIZED)?;
    request.extensions_mut().insert(Caller { name, role: KeyRole::Run });
    Ok(next.run(request).await)
}

/// Serves the program until `stop` is cancelled. Runs stop at the end of their superstep, and the next start resumes them.
async fn serve(shop: Shop, listener: TcpListener, stop: CancellationToken) -> std::io::Result<()> {
    let end = CancellationToken::new();
    let options = Options::default().stop_with(stop.clone()).signal_end(end.clone());
    axum::serve(listener, routes(shop, options)).with_graceful_shutdown(stop.cancelled_owned()).await?;
    end.cancelled().await; // no run is executed any more
    Ok(())
}
// </embedded>

/// Returns the user of a session.
fn user_of(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("x-session")?.to_str().ok()?.to_owned())
}

use futures::StreamExt;
use reqwest::{Client, RequestBuilder};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{MemoryCheckpointer, ThreadId};
use superstep::graph::{StatusKind, ThreadInfo};
use tokio::task::JoinHandle;
use tokio_tungstenite::connect_async;

use crate::api::{Api, all_graphs};

/// The program while it is served.
struct Program {
    address: String,
    client: Client,
    store: Arc<dyn Checkpointer>,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

impl Program {
    async fn start() -> Self {
        let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
        let shop = Shop { graphs: all_graphs().unwrap(), store: Arc::clone(&store) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(shop, listener, stop.clone()));
        Self { address, client: Client::new(), store, stop, served }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.address))
    }

    /// Sends a request of somebody who has logged in.
    async fn post(&self, path: &str, body: Value) -> reqwest::Response {
        self.request(Method::POST, path).header("x-session", "ann").json(&body).send().await.unwrap()
    }
}

#[tokio::test]
async fn a_program_has_the_routes_of_its_graphs_behind_its_own_login() {
    let program = Program::start().await;
    let get = |path| program.request(Method::GET, path).send();
    assert_eq!(get("/").await.unwrap().text().await.unwrap(), "a page");
    assert_eq!(get("/agents/info").await.unwrap().status(), 401);

    let start = json!({ "assistant_id": "approval", "if_not_exists": "create", "input": { "request": "x" } });
    assert_eq!(program.post("/agents/threads/t/runs/wait", start).await.status(), 200);
    let answer = json!({ "assistant_id": "approval", "command": { "resume": "yes", "by": "the boss" } });
    let done: Value = program.post("/agents/threads/t/runs/wait", answer).await.json().await.unwrap();
    assert_eq!(done["status"], "approved");
    let deleted = program.request(Method::DELETE, "/agents/threads/t").header("x-session", "ann").send().await;
    assert_eq!(deleted.unwrap().status(), 403);
}

#[tokio::test]
async fn a_browser_may_ask_what_a_page_may_send_before_anybody_has_logged_in() {
    let program = Program::start().await;
    let of_page = |method, path| program.request(method, path).header("origin", "https://chat.example.com");
    let asked = of_page(Method::OPTIONS, "/agents/threads").header("access-control-request-method", "POST");
    let asked = asked.send().await.unwrap();
    assert_eq!(asked.status(), 200);
    assert_eq!(asked.headers()["access-control-allow-origin"], "https://chat.example.com");
    assert_eq!(of_page(Method::POST, "/agents/threads").json(&json!({})).send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_program_that_stops_waits_for_the_end_of_a_superstep() {
    let program = Program::start().await;
    let run = json!({ "assistant_id": "slow", "if_not_exists": "create", "input": { "steps": 1000, "ms": 300 } });
    assert_eq!(program.post("/agents/threads/t/runs", run).await.status(), 200);
    let thread = ThreadId::from("t");
    let status = async || ThreadInfo::read(&*program.store, &thread).await.unwrap().map(|info| info.status);
    while status().await != Some(StatusKind::Running) {
        tokio::task::yield_now().await;
    }
    program.stop.cancel();
    program.served.await.unwrap().unwrap();
    assert_eq!(status().await, Some(StatusKind::Pending));
}

/// Serves the routes of the graphs below a prefix.
async fn mount(wrap: fn(Router) -> Router) -> Api {
    let agents =
        superstep_server::router(all_graphs().unwrap(), Arc::new(MemoryCheckpointer::new()), Options::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/a/b", listener.local_addr().unwrap());
    let router = wrap(agents);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Api { client: Client::new(), address }
}

#[rstest]
#[case::nested(|router| Router::new().nest("/a/b", router))]
#[case::nested_twice(|router| Router::new().nest("/a", Router::new().nest("/b", router)))]
#[case::service(|router| Router::new().nest_service("/a/b", router))]
#[tokio::test]
async fn all_ways_to_the_graphs_work_below_a_prefix(#[case] wrap: fn(Router) -> Router) {
    let api = mount(wrap).await;
    assert_eq!(api.get("/openapi.json").await["servers"], json!([{ "url": "/a/b" }]));
    assert_eq!(api.status(Method::GET, "/no/such", None).await, 404);
    assert!(api.send(Method::GET, "/docs", None).await.text().await.unwrap().contains("src=\"docs/docs.js\""));
    let page = api.send(Method::GET, "/ui/threads/order-7", None).await.text().await.unwrap();
    assert!(page.contains("src=\"/a/b/ui/page.js\""), "{page}");
    assert_eq!(api.status(Method::GET, "/ui/page.js", None).await, 200);

    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    for path in ["/mcp", "/mcp/"] {
        let accepted = "application/json, text/event-stream";
        let call = api.client.post(format!("{}{path}", api.address)).header("accept", accepted).json(&hello);
        let answer = call.send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.url().path()), (200, "/a/b/mcp"), "{path}");
    }

    let start = json!({ "assistant_id": "counter", "if_not_exists": "create", "input": {} });
    let events = api.stream("/threads/t/runs/stream", start).await;
    assert_eq!(events.last().unwrap().1["n"], 5, "{events:?}");
    let socket = format!("{}/threads/t/stream/events", api.address.replacen("http", "ws", 1));
    let (mut socket, _) = connect_async(socket).await.unwrap();
    let ask = json!({ "id": 7, "method": "agent.getTree", "params": {} }).to_string();
    futures::SinkExt::send(&mut socket, ask.into()).await.unwrap();
    assert!(socket.next().await.unwrap().unwrap().into_text().unwrap().contains("\"id\":7"));
}

#[tokio::test]
async fn a_router_at_the_root_has_no_other_place() {
    assert_eq!(Api::start().await.get("/openapi.json").await["servers"], Value::Null);
}

#[rstest]
#[case::name("app.example.com")]
#[case::address("https://App.Example.com:8443/")]
#[case::port("app.example.com:8443")]
#[tokio::test]
async fn the_name_of_a_program_is_allowed_as_it_is_known(#[case] name: &str) {
    let api = Api::start_with(Options::default().allow_host(name), Arc::new(MemoryCheckpointer::new())).await;
    let info = |host| api.client.get(format!("{}/info", api.address)).header("host", host).send();
    assert_eq!(info("app.example.com").await.unwrap().status(), 200);
    assert_eq!(info("app.example.com:8443").await.unwrap().status(), 200);
    let refused = info("other.example.com").await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(refused.text().await.unwrap().contains("`Options::allow_host`"));
}
