//! Clients that send too much, too slowly or too often, and connections that are left half open.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use reqwest::{Body, Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::CancellationToken;
use superstep_server::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::api::{Api, all_graphs};

/// Starts a server with a listener of its own.
pub(crate) async fn serve(options: Options) -> Api {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let store = Arc::new(MemoryCheckpointer::new());
    tokio::spawn(async move { options.serve(all_graphs().unwrap(), store, listener).await });
    Api { client: reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap(), address }
}

pub(crate) async fn connect(api: &Api) -> TcpStream {
    TcpStream::connect(api.address.trim_start_matches("http://")).await.unwrap()
}

/// Sends a text, and returns all that the server sends until it closes the connection.
async fn exchange(api: &Api, text: &str) -> String {
    let mut stream = connect(api).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = vec![];
    _ = stream.read_to_end(&mut answer).await; // a reset is an end too
    String::from_utf8_lossy(&answer).into_owned()
}

/// Repeats an attempt until it returns something.
async fn until<T, F: Future<Output = Option<T>>>(mut attempt: impl FnMut() -> F) -> T {
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

#[rstest]
#[case::named_length(false)]
#[case::in_pieces(true)]
#[tokio::test]
async fn a_body_that_is_too_large_is_refused(#[case] is_in_pieces: bool) {
    let api = serve(Options::default().body_limit(1000)).await;
    let send = |size: usize| {
        let body = json!({ "metadata": { "long": "x".repeat(size) } }).to_string();
        let body = match is_in_pieces {
            false => Body::from(body),
            true => {
                let pieces = [body].into_iter().map(Ok::<_, std::io::Error>);
                Body::wrap_stream(futures::stream::iter(pieces))
            }
        };
        let request = api.client.post(format!("{}/threads", api.address)).header("content-type", "application/json");
        request.body(body).send()
    };
    assert_eq!(send(500).await.unwrap().status(), StatusCode::OK);
    let refused = send(100_000).await.unwrap();
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let detail: Value = refused.json().await.unwrap();
    assert_eq!(detail["detail"], "the body of the request is too large: at most 1000 bytes are accepted");
    assert_eq!(api.post("/threads/count", json!({})).await, 1);
}

#[tokio::test]
async fn a_body_may_be_larger_than_a_framework_would_accept() {
    let api = Api::start().await;
    let body = json!({ "metadata": { "long": "x".repeat(5 << 20) } });
    assert_eq!(api.send(Method::POST, "/threads", Some(body)).await.status(), StatusCode::OK);
}

#[rstest]
#[case::nothing("")]
#[case::half_a_head("GET /ok HTTP/1.1\r\nhost: localhost\r\nx-slow: ")]
#[tokio::test]
async fn a_head_that_does_not_come_closes_the_connection(#[case] sent: &str) {
    let api = serve(Options::default().header_timeout(Duration::from_millis(50))).await;
    let answer = exchange(&api, sent).await;
    assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    assert_eq!(api.get("/ok").await["ok"], true);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_refused() {
    let options = Options::default().body_timeout(Duration::from_millis(50));
    let api = serve(options).await;
    let head =
        "POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{";
    let answer = exchange(&api, head).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains(r#"{"detail":"the body of the request came too slowly"}"#), "{answer}");
}

#[rstest]
#[case::one_long_header(format!("x-long: {}\r\n", "x".repeat(20_000)))]
#[case::many_headers("x-many: 1\r\n".repeat(200))]
#[tokio::test]
async fn a_head_that_is_too_large_is_refused(#[case] headers: String) {
    let api = serve(Options::default().header_limit(10_000)).await;
    let answer = exchange(&api, &format!("GET /ok HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

/// Opens a stream of a run that lasts, and reads the first byte of its answer.
async fn open_stream(api: &Api) -> TcpStream {
    let body = json!({ "assistant_id": "slow", "input": { "steps": 100_000, "ms": 5 } }).to_string();
    let head = "POST /runs/stream HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
    let mut stream = connect(api).await;
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    stream
}

fn short_run() -> Option<Value> {
    Some(json!({ "assistant_id": "counter", "input": { "n": 1 } }))
}

#[tokio::test]
async fn a_half_closed_connection_holds_no_stream() {
    let api = serve(Options::default().stream_limit(1)).await;
    let mut stream = open_stream(&api).await;
    let refused = api.send(Method::POST, "/runs/stream", short_run()).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    let runs = api.post("/threads/count", json!({})).await;
    stream.shutdown().await.unwrap();
    rest(&mut stream).await;
    until(async || {
        let answer = api.send(Method::POST, "/runs/stream", short_run()).await;
        (answer.status() == StatusCode::OK).then_some(())
    })
    .await;
    assert_eq!(runs, 0, "a stream that is refused creates no run");
}

#[tokio::test]
async fn a_connection_above_the_limit_is_turned_away() {
    let api = serve(Options::default().connection_limit(1)).await;
    let mut held = connect(&api).await;
    held.write_all(b"GET /ok HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    held.read_u8().await.unwrap();
    let refused = api.send(Method::GET, "/ok", None).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(refused.json::<Value>().await.unwrap()["detail"].is_string());
    drop(held);
    until(async || (api.send(Method::GET, "/ok", None).await.status() == StatusCode::OK).then_some(())).await;
}

#[rstest]
#[case::of_a_thread(Options::default().queue_limit(2))]
#[case::of_all_threads(Options::default().open_run_limit(2))]
#[tokio::test]
async fn a_full_queue_takes_no_run(#[case] options: Options) {
    let api = serve(options).await;
    let path = format!("/threads/{}/runs", api.thread().await);
    let lasting = || Some(json!({ "assistant_id": "slow", "input": { "steps": 100_000, "ms": 5 } }));
    let first: Value = api.send(Method::POST, &path, lasting()).await.json().await.unwrap();
    assert_eq!(api.send(Method::POST, &path, lasting()).await.status(), StatusCode::OK);
    let refused = api.send(Method::POST, &path, lasting()).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers().contains_key("retry-after"));
    let run = first["run_id"].as_str().unwrap();
    api.send(Method::POST, &format!("{path}/{run}/cancel?wait=1"), None).await;
    until(async || {
        let created = api.send(Method::POST, &path, lasting()).await;
        (created.status() == StatusCode::OK).then_some(())
    })
    .await;
}

#[tokio::test]
async fn too_many_requests_of_an_address_are_refused_until_later() {
    let api = serve(Options::default().request_limit(2)).await;
    let refused = until(async || {
        let answer = api.send(Method::GET, "/info", None).await;
        (answer.status() == StatusCode::TOO_MANY_REQUESTS).then_some(answer)
    })
    .await;
    assert!(refused.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
    until(async || (api.send(Method::GET, "/info", None).await.status() == StatusCode::OK).then_some(())).await;
}

#[tokio::test]
async fn a_command_over_a_websocket_counts_as_a_request() {
    let api = serve(Options::default().request_limit(2)).await;
    let address = format!("{}/threads/t/stream/events", api.address.replace("http", "ws"));
    let (mut socket, _) = connect_async(address).await.unwrap();
    let mut send = async || {
        let command = json!({ "id": 1, "method": "agent.getTree", "params": {} }).to_string();
        socket.send(Message::text(command)).await.unwrap();
        loop {
            if let Message::Text(answer) = socket.next().await.unwrap().unwrap() {
                return serde_json::from_str::<Value>(&answer).unwrap()["error"].clone();
            }
        }
    };
    while send().await != "too_many_requests" {}
    while send().await == "too_many_requests" {}
}

#[tokio::test]
async fn a_server_that_stops_closes_idle_connections_and_ends_streams() {
    let stop = CancellationToken::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = Api { client: reqwest::Client::new(), address: format!("http://{}", listener.local_addr().unwrap()) };
    let options = Options::default().stop_with(stop.clone());
    let serving = options.serve(all_graphs().unwrap(), Arc::new(MemoryCheckpointer::new()), listener);
    let serving = tokio::spawn(serving);
    let (mut idle, mut stream) = (connect(&api).await, open_stream(&api).await);
    stop.cancel();
    assert!(rest(&mut stream).await.contains("shutdown"));
    assert_eq!(rest(&mut idle).await, "");
    serving.await.unwrap().unwrap();
}
