//! Webhooks: what is sent when a run has ended, again until it is accepted, whichever server is there.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use reqwest::Method;
use ring::hmac;
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, ItemScan, MemoryCheckpointer};
use superstep_server::Options;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::api::{Api, Process, make_due};

/// A receiver of webhooks.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: mpsc::UnboundedReceiver<(HeaderMap, String)>,
}

impl Receiver {
    /// Starts a receiver that gives answers in their order, then accepts all; `None` is an answer that never comes.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Option<Response>>) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let answers = Arc::new(Mutex::new(answers.into_iter().collect::<Vec<_>>()));
        let receive = async move |headers: HeaderMap, body: Bytes| {
            let text = String::from_utf8(body.to_vec()).unwrap();
            let answer = {
                let mut answers = answers.lock().unwrap();
                if answers.is_empty() { Some(StatusCode::OK.into_response()) } else { answers.remove(0) }
            };
            sender.send((headers, text)).unwrap();
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?a=b", listener.local_addr().unwrap());
        let router = Router::new().route("/hook", post(receive));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received }
    }

    pub(crate) async fn next(&mut self) -> (HeaderMap, Value) {
        let (headers, body) = self.received.recv().await.unwrap();
        (headers, serde_json::from_str(&body).unwrap())
    }
}

fn options() -> Options {
    Options::default().allow_private_webhooks(true).webhook_secret("secret")
}

async fn start() -> (Api, Arc<MemoryCheckpointer>) {
    let store = Arc::new(MemoryCheckpointer::new());
    (Api::start_with(options(), store.clone()).await, store)
}

fn body(receiver: &Receiver, more: Value) -> Value {
    let mut body = json!({ "assistant_id": "counter", "input": { "n": 1 }, "webhook": receiver.url });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn a_run_that_has_ended_is_sent_with_its_values_and_signed() {
    let (mut receiver, (api, _)) = (Receiver::start([]).await, start().await);
    let thread = api.thread().await;
    let run = api.post(&format!("/threads/{thread}/runs"), body(&receiver, json!({}))).await;
    let (headers, text) = receiver.received.recv().await.unwrap();
    let sent: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&sent["run_id"], &sent["status"], &sent["values"]["n"]),
        (&run["run_id"], &json!("success"), &json!(6))
    );
    for time in ["run_started_at", "run_ended_at", "webhook_sent_at"] {
        assert!(sent[time].as_str().is_some_and(|time| time.ends_with("+00:00")), "{sent}");
    }
    assert_eq!(sent.get("error"), None);
    assert_eq!(headers[header::CONTENT_TYPE], "application/json");
    let signature = headers["superstep-signature"].to_str().unwrap();
    let (time, hex) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"secret"), format!("{time}.{text}").as_bytes());
    assert_eq!(hex, tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    assert!(time.parse::<u64>().unwrap() > 1_700_000_000);
}

#[tokio::test]
async fn runs_that_fail_are_cancelled_or_have_no_thread_are_sent_too() {
    let (mut receiver, (api, _)) = (Receiver::start([]).await, start().await);
    let more = json!({ "assistant_id": "fails", "input": { "reason": "why" } });
    api.post("/runs/wait", body(&receiver, more)).await;
    let (_, failed) = receiver.next().await;
    assert_eq!((&failed["status"], &failed["error"]["message"]), (&json!("error"), &json!("boom: why")));

    api.post("/runs/wait", body(&receiver, json!({}))).await;
    assert_eq!(receiver.next().await.1["values"]["n"], 6);

    let path = format!("/threads/{}/runs", api.thread().await);
    let slow = json!({ "assistant_id": "slow", "input": { "steps": 1000, "ms": 10 } });
    let first = api.post(&path, slow.clone()).await["run_id"].as_str().unwrap().to_owned();
    let second = api.post(&path, body(&receiver, slow)).await["run_id"].as_str().unwrap().to_owned();
    for run in [&second, &first] {
        assert_eq!(api.status(Method::POST, &format!("{path}/{run}/cancel"), None).await, 202);
    }
    let (_, cancelled) = receiver.next().await;
    assert_eq!((&cancelled["run_id"], &cancelled["status"]), (&json!(second), &json!("interrupted")));
}

#[tokio::test]
async fn a_webhook_is_sent_again_until_it_is_accepted_and_redirects_are_not_followed() {
    let mut other = Receiver::start([]).await;
    let redirect = (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, other.url.clone())]).into_response();
    let failures = [StatusCode::INTERNAL_SERVER_ERROR.into_response(), redirect].map(Some);
    let (mut receiver, (api, store)) = (Receiver::start(failures).await, start().await);
    let run = api.post("/runs", body(&receiver, json!({}))).await;
    for _ in 0..3 {
        let (_, sent) = receiver.next().await;
        assert_eq!((&sent["run_id"], &sent["values"]["n"]), (&run["run_id"], &json!(6)));
        make_due(&*store, ("delivery", "superstep.server.deliveries", "due")).await;
    }
    assert!(other.received.try_recv().is_err());
}

#[tokio::test]
async fn a_webhook_whose_server_has_died_is_sent_by_another_and_one_that_was_accepted_is_not() {
    let mut receiver = Receiver::start([None]).await;
    let store = Arc::new(MemoryCheckpointer::new());
    let dying = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    let (own, request) = (store.clone(), body(&receiver, json!({})));
    let run = dying.spawn(async move { Api::start_with(options(), own).await.post("/runs/wait", request).await });
    assert_eq!(run.await.unwrap()["n"], 6);
    receiver.next().await; // it is claimed, and has no answer
    dying.shutdown_background();
    let api = Api::start_with(options(), store.clone()).await;
    make_due(&*store, ("delivery", "superstep.server.deliveries", "due")).await;
    assert_eq!(receiver.next().await.1["values"]["n"], 6);
    // The next webhook is not preceded by another attempt of the first.
    let second = api.post("/runs", body(&receiver, json!({ "input": { "n": 2 } }))).await;
    let (_, sent) = receiver.next().await;
    assert_eq!((&sent["run_id"], &sent["values"]["n"]), (&second["run_id"], &json!(7)));
}

#[tokio::test]
async fn a_later_run_and_its_webhook_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::start([]).await;
    let (process, api) = Process::start(&folder.path().join("store"));
    let run = api.post("/runs", body(&receiver, json!({ "after_seconds": 0.5 }))).await;
    drop(process);
    let (_process, _) = Process::start(&folder.path().join("store"));
    let (headers, sent) = receiver.next().await;
    assert_eq!(
        (&sent["run_id"], &sent["status"], &sent["values"]["n"]),
        (&run["run_id"], &json!("success"), &json!(6))
    );
    assert!(headers.contains_key("superstep-signature"));
}

#[tokio::test]
async fn a_webhook_whose_server_was_killed_while_it_sent_it_is_sent_within_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::start([None]).await;
    let (process, api) = Process::start(&folder.path().join("store"));
    let run = api.post("/runs", body(&receiver, json!({}))).await;
    receiver.next().await; // it is claimed, and has no answer
    drop(process);
    let (_process, _) = Process::start(&folder.path().join("store"));
    let (_, sent) = timeout(Duration::from_secs(30), receiver.next()).await.unwrap();
    assert_eq!(sent["run_id"], run["run_id"]);
}

#[tokio::test]
async fn a_webhook_stays_claimed_while_its_target_has_not_answered() {
    let (mut receiver, (api, store)) = (Receiver::start([None]).await, start().await);
    api.post("/runs", body(&receiver, json!({}))).await;
    receiver.next().await;
    let due = async || {
        let found = store.scan_items(&ItemScan::of("superstep.server.deliveries")).await.unwrap();
        let delivery: Value = serde_json::from_slice(&found[0].1).unwrap();
        (delivery["record"]["due"].as_u64().unwrap(), delivery["record"]["attempts"].clone())
    };
    let first = due().await;
    while due().await.0 == first.0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let renewed = due().await;
    assert!(renewed.0 > first.0 && renewed.1 == first.1, "{first:?} {renewed:?}");
}

#[rstest]
#[case::loopback("http://127.0.0.1:1/hook", "not public")]
#[case::name("http://localhost/hook", "not public")]
#[case::metadata("http://169.254.169.254/", "not public")]
#[case::own_path("/hook", "is no URL")]
#[case::scheme("ftp://example.org/", "neither http nor https")]
#[tokio::test]
async fn a_target_in_the_own_network_is_refused(#[case] url: &str, #[case] reason: &str) {
    let api = Api::start().await;
    let request = json!({ "assistant_id": "counter", "webhook": url });
    let response = api.send(Method::POST, "/runs", Some(request)).await;
    assert_eq!(response.status().as_u16(), 422);
    let body: Value = response.json().await.unwrap();
    assert!(body["detail"].as_str().unwrap().contains(reason), "{body}");
}

#[tokio::test]
async fn a_webhook_that_was_stored_when_private_ones_were_allowed_is_not_sent_when_they_are_not() {
    let (mut receiver, store) =
        (Receiver::start([Some(StatusCode::BAD_GATEWAY.into_response())]).await, Arc::new(MemoryCheckpointer::new()));
    let stop = superstep::graph::CancellationToken::new();
    let api = Api::start_with(options().stop_with(stop.clone()), store.clone()).await;
    api.post("/runs/wait", body(&receiver, json!({}))).await;
    receiver.next().await;
    stop.cancel();
    let strict = Api::start_with(Options::default(), store.clone()).await;
    make_due(&*store, ("delivery", "superstep.server.deliveries", "due")).await;
    strict.post("/runs/wait", json!({ "assistant_id": "counter", "input": {} })).await;
    let allowed = Api::start_with(options(), store.clone()).await;
    allowed.post("/runs/wait", body(&receiver, json!({ "input": { "n": 5 } }))).await;
    assert_eq!(receiver.next().await.1["values"]["n"], 10);
}
