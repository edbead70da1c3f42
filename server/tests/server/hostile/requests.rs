//! Requests that no client sends: texts that are no HTTP, bodies that are no JSON, and numbers that no machine has. Each is refused with a
//! sentence or does what it says, and the server goes on.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use reqwest::{Method, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::CancellationToken;
use superstep_server::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::interval;

use crate::api::Api;
use crate::limits::{connect, rest, serve};

/// Returns a server that does not wait long for what does not come.
async fn impatient() -> Api {
    let time = Duration::from_millis(200);
    serve(Options::default().header_timeout(time).body_timeout(time)).await
}

/// Sends bytes and the end of them, and returns what the server answers until it closes the connection.
async fn exchange(api: &Api, bytes: &[u8], ends: bool) -> String {
    let mut stream = connect(api).await;
    stream.write_all(bytes).await.unwrap();
    if ends {
        stream.shutdown().await.unwrap();
    }
    rest(&mut stream).await
}

/// Returns the statuses of the answers in a text.
fn statuses(answers: &str) -> Vec<&str> {
    answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect()
}

async fn assert_alive(api: &Api) {
    assert_eq!(api.get("/ok").await["ok"], true);
    let thread = api.thread().await;
    let body = json!({ "assistant_id": "counter", "input": { "n": 1 } });
    assert_eq!(api.post(&format!("/threads/{thread}/runs/wait"), body).await["n"], 6);
}

#[rstest]
#[case::binary(b"\x00\x01\x02\xff\xfe\r\n\r\n", &[])]
#[case::tls(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", &[])]
#[case::http_0_9(b"GET /ok\r\n\r\n", &[])]
#[case::http_2(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[])]
#[case::http_9_9(b"GET /ok HTTP/9.9\r\nhost: localhost\r\n\r\n", &[])]
#[case::garbage_after_a_request(b"GET /ok HTTP/1.1\r\nhost: localhost\r\n\r\n\x00\xffgarbage\r\n\r\n", &["200"])]
#[case::raw_bytes_in_the_path(b"GET /threads/\xff\xfe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", &[])]
#[case::no_header(b"GET /ok HTTP/1.1\r\nno header\r\n\r\n", &[])]
#[case::zero_in_a_header(b"GET /ok HTTP/1.1\r\nhost: localhost\r\nx: \x00\r\n\r\n", &[])]
#[case::two_lengths(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}", &[])]
#[case::negative_length(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n{}", &[])]
#[case::huge_length(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1099511627776\r\n\r\n{}", &["413"])]
#[case::hugest_length(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 18446744073709551614\r\n\r\n{}", &["431"])]
#[case::no_length_at_all(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n{}", &[])]
#[case::huge_chunk(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}", &["400"])]
#[case::chunk_of_no_size(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n{}", &["400"])]
#[case::half_a_body(b"POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20\r\n\r\n{", &["408"])]
#[tokio::test]
async fn a_server_survives_what_is_no_http(
    #[case] bytes: &[u8],
    #[case] answered: &[&str],
    #[values(false, true)] ends: bool,
) {
    let api = impatient().await;
    let answers = exchange(&api, bytes, ends).await;
    let found = statuses(&answers);
    // What is no request is answered by 400 or not at all, and so is a request whose sender has ended.
    assert!(found.iter().all(|status| *status == "400" || answered.contains(status)), "{answers}");
    assert!(found.len() <= answered.len() + 1, "{answers}");
    assert!(ends || answered.iter().all(|status| found.contains(status) || *status == "400"), "{answers}");
    assert_alive(&api).await;
}

#[rstest]
#[case::head("GET /ok HTTP/1.1\r\nhost: localhost\r\nx-slow: ", "")]
#[case::body("POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n{", "408")]
#[tokio::test]
async fn a_request_that_comes_in_drops_is_given_up(#[case] start: &str, #[case] answered: &str) {
    let api = impatient().await;
    let (mut reader, mut writer) = connect(&api).await.into_split();
    writer.write_all(start.as_bytes()).await.unwrap();
    let (mut answer, mut drops) = (vec![], interval(Duration::from_millis(5)));
    let drip = async {
        loop {
            drops.tick().await;
            if writer.write_all(b"x").await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = drip => {}
        _ = reader.read_to_end(&mut answer) => {}
    }
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(statuses(&answer).join(""), answered, "{answer}");
    assert_alive(&api).await;
}

/// Sends a request with a body, and returns the status and the text of the answer.
async fn send(api: &Api, line: &str, body: &[u8]) -> (u16, String) {
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json";
    let head = format!("host: localhost\r\nconnection: close\r\n{accept}\r\ncontent-length: {}", body.len());
    let mut bytes = format!("{line} HTTP/1.1\r\n{head}\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    let answer = exchange(api, &bytes, false).await;
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    (statuses(&answer)[0].parse().unwrap(), text.to_owned())
}

/// Returns JSON as deep as this.
fn nested(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

#[rstest]
#[case::not_ended("POST /threads", "{".to_owned())]
#[case::no_object("POST /threads", "7".to_owned())]
#[case::too_deep("POST /threads", format!(r#"{{"metadata":{{"a":{}}}}}"#, nested(100_000)))]
#[case::deep_and_not_ended("POST /threads/search", "[".repeat(1_000_000))]
#[case::deep_input("POST /runs/wait", format!(r#"{{"assistant_id":"counter","input":{{"n":{}}}}}"#, nested(100)))]
#[case::deeper_input("POST /runs/wait", format!(r#"{{"assistant_id":"counter","input":{{"n":{}}}}}"#, nested(1000)))]
#[case::deep_command("POST /threads/t/commands", nested(100_000))]
#[case::deep_item("PUT /store/items", format!(r#"{{"namespace":["a"],"key":"k","value":{{"a":{}}}}}"#, nested(100_000)))]
#[case::deep_call("POST /mcp", nested(100_000))]
#[case::number_beyond_numbers("POST /threads", r#"{"metadata":{"a":1e999}}"#.to_owned())]
#[case::field_that_is_there_twice("POST /threads", r#"{"thread_id":"a","thread_id":"b"}"#.to_owned())]
#[case::lone_surrogate("POST /threads", r#"{"metadata":{"a":"\ud800"}}"#.to_owned())]
#[case::limit("POST /threads/search", r#"{"limit":1e308}"#.to_owned())]
#[case::negative_limit("POST /assistants/search", r#"{"limit":-1}"#.to_owned())]
#[case::offset("POST /threads/search", r#"{"offset":-1}"#.to_owned())]
#[case::offset_of_items("POST /store/items/search", r#"{"namespace_prefix":[],"offset":-1}"#.to_owned())]
#[case::limit_of_namespaces("POST /store/namespaces", r#"{"limit":1e300}"#.to_owned())]
#[case::limit_of_states("POST /threads/t/history", r#"{"limit":-1}"#.to_owned())]
#[case::limit_of_crons("POST /runs/crons/search", r#"{"limit":1.5}"#.to_owned())]
#[case::negative_ttl("POST /threads", r#"{"ttl":-1}"#.to_owned())]
#[case::recursion("POST /runs/wait", r#"{"assistant_id":"counter","input":{},"config":{"recursion_limit":-1}}"#.to_owned())]
#[case::text_as_time("POST /runs", r#"{"assistant_id":"counter","input":{},"after_seconds":"x"}"#.to_owned())]
#[case::huge_schedule("POST /runs/crons", r#"{"assistant_id":"counter","input":{},"schedule":"99999999999999999999 * * * *"}"#.to_owned())]
#[tokio::test]
async fn a_body_that_makes_no_sense_is_refused_with_a_sentence(#[case] line: &str, #[case] body: String) {
    let api = impatient().await;
    let (status, text) = send(&api, line, body.as_bytes()).await;
    assert!((400..500).contains(&status), "{status} {text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    let detail = match line {
        "POST /threads/t/commands" => &answer["message"],
        _ => &answer["detail"],
    };
    assert!(detail.is_string(), "{text}");
    assert_alive(&api).await;
}

#[rstest]
#[case::bytes_in_a_text("POST /threads", b"{\"metadata\":{\"a\":\"\xff\xfe\"}}")]
#[case::bytes("PUT /store/items", b"\xff\xfe\xfd")]
#[case::utf_16("POST /runs", b"\xff\xfe{\x00}\x00")]
#[case::path("GET /threads/%FF%FE", b"")]
#[case::part_of_a_path("GET /threads/%FF/state/%C0%80", b"")]
#[case::query("GET /threads/t/history?limit=%FF", b"")]
#[case::number_in_a_query("GET /threads/t/history?limit=1e308", b"")]
#[case::negative_number_in_a_query("GET /threads/t/runs?offset=-1", b"")]
#[case::number_of_an_event("GET /events?since=-1", b"")]
#[case::text_as_number_of_an_event("GET /events?since=x", b"")]
#[case::id("GET /threads/t/runs/%00", b"")]
#[case::two_bodies("POST /threads", b"{}{}")]
#[tokio::test]
async fn what_is_no_text_is_refused_with_a_sentence(#[case] line: &str, #[case] body: &[u8]) {
    let api = impatient().await;
    let (status, text) = send(&api, line, body).await;
    assert!((400..500).contains(&status), "{status} {text}");
    assert!(serde_json::from_str::<Value>(&text).unwrap()["detail"].is_string(), "{text}");
    assert_alive(&api).await;
}

#[rstest]
#[case::deep_metadata("POST /threads", format!(r#"{{"metadata":{{"a":{}}}}}"#, nested(100)))]
#[case::assistants_that_are_there_twice("POST /runs/wait", r#"{"assistant_id":"fails","assistant_id":"counter","input":{"n":1,"n":2}}"#.to_owned())]
#[case::offset("POST /threads/search", format!(r#"{{"offset":{},"limit":1000}}"#, u64::MAX))]
#[case::offset_of_items("POST /store/items/search", format!(r#"{{"namespace_prefix":[],"offset":{}}}"#, u64::MAX))]
#[case::offset_of_namespaces("POST /store/namespaces", format!(r#"{{"offset":{},"max_depth":{}}}"#, u64::MAX, u64::MAX))]
#[case::ttl("POST /threads", r#"{"ttl":1e300}"#.to_owned())]
#[case::ttl_with_a_strategy("POST /threads", format!(r#"{{"ttl":{{"ttl":{},"strategy":"delete"}}}}"#, u64::MAX))]
#[case::ttl_of_an_item("PUT /store/items", r#"{"namespace":["a"],"key":"k","value":{},"ttl":1e300}"#.to_owned())]
#[case::recursion("POST /runs/wait", format!(r#"{{"assistant_id":"counter","input":{{}},"config":{{"recursion_limit":{}}}}}"#, u64::MAX))]
#[case::negative_time("POST /runs/wait", r#"{"assistant_id":"counter","input":{},"after_seconds":-1e300}"#.to_owned())]
#[case::largest_input("POST /runs/wait", format!(r#"{{"assistant_id":"counter","input":{{"n":{}}}}}"#, i64::MAX))]
#[tokio::test]
async fn a_body_that_is_odd_does_what_it_says(#[case] line: &str, #[case] body: String) {
    let api = impatient().await;
    let (status, text) = send(&api, line, body.as_bytes()).await;
    assert!((200..300).contains(&status), "{status} {text}");
    let threads = api.send(Method::POST, "/threads/search", Some(json!({}))).await;
    assert_eq!(threads.status(), StatusCode::OK);
    for thread in threads.json::<Vec<Value>>().await.unwrap() {
        let path = format!("/threads/{}?include=ttl", thread["thread_id"].as_str().unwrap());
        assert_eq!(api.status(Method::GET, &path, None).await, 200);
    }
    assert_alive(&api).await;
}

#[rstest]
#[case(json!(1e300))]
#[case(json!(f64::MAX))]
#[case(json!(u64::MAX))]
#[case(json!(9_007_199_254_740_993_u64))]
#[tokio::test]
async fn a_run_at_the_end_of_time_is_pending_and_holds_up_no_other(#[case] seconds: Value) {
    let (store, stop) = (Arc::new(MemoryCheckpointer::new()), CancellationToken::new());
    let api = Api::start_with(Options::default().stop_with(stop.clone()), store.clone()).await;
    let path = format!("/threads/{}/runs", api.thread().await);
    let late = json!({ "assistant_id": "counter", "input": { "n": 1 }, "after_seconds": seconds });
    let run = api.post(&path, late.clone()).await;
    assert_eq!(run["status"], "pending", "{run}");
    let run = format!("{path}/{}", run["run_id"].as_str().unwrap());
    let soon = json!({ "assistant_id": "counter", "input": { "n": 1 }, "after_seconds": 0.01 });
    let soon = format!("{path}/{}", api.post(&path, soon).await["run_id"].as_str().unwrap());
    api.until(&soon, |run| run["status"] == "success").await;
    let stream = api.send(Method::POST, "/runs/stream", Some(late)).await;
    assert_eq!(stream.status(), StatusCode::OK);
    stop.cancel();
    stream.text().await.unwrap();
    let api = Api::start_with(Options::default(), store).await;
    assert_eq!(api.get(&run).await["status"], "pending");
    assert_eq!(api.get(&path).await.as_array().unwrap().len(), 2);
    assert_eq!(api.status(Method::POST, &format!("{run}/cancel?wait=1"), None).await, 200);
    assert_alive(&api).await;
}

#[tokio::test]
async fn a_reader_that_comes_back_with_nonsense_is_answered() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({ "assistant_id": "counter", "input": { "n": 1 }, "stream_resumable": true });
    let run = api.post(&format!("{path}/runs"), body).await["run_id"].as_str().unwrap().to_owned();
    api.get(&format!("{path}/runs/{run}/join")).await;
    let max = u64::MAX.to_string();
    let nonsense: [&[u8]; 9] =
        [b"", b"x", b"-5", b"1e9", b"\xff\xfe", b"0", max.as_bytes(), &[b'9'; 100], b"1-18446744073709551615"];
    let paths = [format!("{path}/runs/{run}/stream"), format!("{path}/stream"), "/events".to_owned()];
    let requests = paths.iter().flat_map(|path| nonsense.map(|id| (path, id)));
    let answers = requests.map(async |(path, id)| {
        let request = api.client.get(format!("{}{path}", api.address)).header("last-event-id", id);
        let mut answer = request.send().await.unwrap();
        assert!(!answer.status().is_server_error(), "{path} {id:?}: {}", answer.status());
        match answer.status() == StatusCode::OK {
            // An error of the server would come as an event, and a panic as the loss of the connection.
            true => {
                let piece = answer.chunk().await.unwrap().unwrap_or_default();
                assert!(!piece.starts_with(b"event: error"), "{path} {id:?}: {piece:?}");
            }
            false => assert!(answer.json::<Value>().await.unwrap()["detail"].is_string(), "{path} {id:?}"),
        }
    });
    join_all(answers).await;
    assert_alive(&api).await;
}
