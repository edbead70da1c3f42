//! Events of runs: which ones there are for each mode, and who gets them again, after a kill or from another server.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::{Method, Response};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, MemoryCheckpointer};
use superstep_server::Options;

use crate::api::{Api, Process, events};

pub(crate) type Event = (String, Value, Option<u64>);

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|(name, ..)| name.as_str()).collect()
}

/// An event whose id may be of any form.
type AnyEvent = (String, Value, Option<String>);

/// Reads events from a response until one of them is wanted, and leaves then.
async fn read_raw(mut response: Response, is_wanted: impl Fn(&AnyEvent) -> bool) -> Vec<AnyEvent> {
    let (mut text, mut all) = (String::new(), vec![]);
    while let Some(bytes) = response.chunk().await.unwrap() {
        text += std::str::from_utf8(&bytes).unwrap();
        while let Some((block, rest)) = text.split_once("\r\n\r\n") {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let Some(name) = field("event: ") {
                all.push((name, serde_json::from_str(&field("data: ").unwrap()).unwrap(), field("id: ")));
            }
            text = rest.to_owned();
            if all.last().is_some_and(&is_wanted) {
                return all;
            }
        }
    }
    all
}

/// The same, of events with numbers.
async fn read_until(response: Response, is_wanted: impl Fn(&AnyEvent) -> bool) -> Vec<Event> {
    let all = read_raw(response, is_wanted).await.into_iter();
    all.map(|(name, data, id)| (name, data, id.map(|id| id.parse().unwrap()))).collect()
}

#[rstest]
#[case::tuples(json!("messages-tuple"), &["metadata", "messages", "messages", "messages", "messages"])]
#[case::so_far(json!("messages"), &["metadata", "messages/metadata", "messages/partial", "messages/partial", "messages/partial", "messages/partial"])]
#[case::tuples_before_so_far(json!(["messages", "messages-tuple", "updates"]), &["metadata", "messages", "messages", "messages", "messages", "updates"])]
#[tokio::test]
async fn messages_come_in_pieces(#[case] modes: Value, #[case] expected: &[&str]) {
    let api = Api::start().await;
    let body = json!({
        "assistant_id": "chat_echo", "input": { "messages": [{ "role": "user", "content": "a b" }] }, "stream_mode": modes
    });
    let events = api.stream("/runs/stream", body).await;
    assert_eq!(names(&events), expected);
    let ids: BTreeSet<&str> = events.iter().filter_map(|(_, data, _)| data[0]["id"].as_str()).collect();
    assert_eq!(ids.len(), 1, "{events:?}");
}

#[tokio::test]
async fn subgraphs_have_events_of_their_own() {
    let api = Api::start().await;
    let body = json!({
        "assistant_id": "nested", "input": {}, "stream_mode": ["updates"], "stream_subgraphs": true
    });
    let deep = api.stream("/runs/stream", body.clone()).await;
    let without_tasks: Vec<&str> = deep.iter().map(|(name, ..)| name.split(':').next().unwrap()).collect();
    assert_eq!(without_tasks, ["metadata", "updates", "updates|child", "updates|child", "updates", "updates"]);
    let mut flat = body;
    flat["stream_subgraphs"] = false.into();
    assert_eq!(names(&api.stream("/runs/stream", flat).await), ["metadata", "updates", "updates", "updates"]);
}

/// Creates a run whose ticks are streamed, and returns its path.
async fn ticking(api: &Api, steps: u64, ms: u64) -> String {
    let path = format!("/threads/{}", api.thread().await);
    let body = json!({
        "assistant_id": "slow", "input": { "steps": steps, "ms": ms }, "stream_mode": ["custom", "values"],
        "stream_resumable": true
    });
    let run = api.post(&format!("{path}/runs"), body).await;
    format!("{path}/runs/{}", run["run_id"].as_str().unwrap())
}

async fn rejoin(api: &Api, run: &str, last: &str) -> Response {
    let request = api.client.request(Method::GET, format!("{}{run}/stream", api.address));
    request.header("Last-Event-ID", last).send().await.unwrap()
}

/// Checks that numbers grow by one, but for what is said to be missing; returns the ticks.
pub(crate) fn check_numbers(events: &[Event], mut last: u64) -> Vec<u64> {
    for (name, data, id) in events {
        let first = if name == "gap" { data["from"].as_u64().unwrap() } else { id.unwrap() };
        assert_eq!(first, last + 1, "{events:?}");
        last = id.unwrap();
    }
    events.iter().filter_map(|(_, data, _)| data["tick"].as_u64()).collect()
}

#[tokio::test]
async fn a_run_that_is_waited_for_has_its_events_from_when_somebody_reads_them() {
    let api = Api::start().await;
    let thread = format!("/threads/{}", api.thread().await);
    let body = json!({ "assistant_id": "slow", "input": { "steps": 60, "ms": 10 }, "stream_mode": "custom" });
    let read = async {
        let run = loop {
            let runs = api.get(&format!("{thread}/runs")).await;
            if runs[0]["status"] == "running" {
                break format!("{thread}/runs/{}", runs[0]["run_id"].as_str().unwrap());
            }
        };
        events(rejoin(&api, &run, "1").await).await
    };
    let wait = format!("{thread}/runs/wait");
    let (waited, read) = tokio::join!(api.post(&wait, body.clone()), read);
    assert_eq!(waited["ticks"], 60);
    let ticks = check_numbers(&read, 1);
    assert_eq!(ticks, (61 - ticks.len() as u64..=60).collect::<Vec<_>>());
    assert!(!ticks.is_empty());
}

#[rstest]
#[case::at_once(None, &["metadata", "values", "values"])]
#[case::once_more(Some("/stream"), &[])]
#[case::after_its_end(Some("/join"), &[])]
#[case::after_its_end_was_seen(Some(""), &[])]
#[tokio::test]
async fn a_run_is_joined_from_its_start_by_the_first_client_only(
    #[case] before: Option<&str>,
    #[case] expected: &[&str],
) {
    let api = Api::start().await;
    let body = json!({ "assistant_id": "slow", "input": { "steps": 1, "ms": 1 } });
    let runs = format!("/threads/{}/runs", api.thread().await);
    let path = format!("{runs}/{}", api.post(&runs, body).await["run_id"].as_str().unwrap());
    let get = async |end: &str| api.send(Method::GET, &format!("{path}{end}"), None).await.text().await.unwrap();
    // Its end is looked for in the list, which does not say of one run that it is known.
    api.until(&runs, |runs| runs[0]["status"] == "success").await;
    if let Some(before) = before {
        get(before).await;
    }
    let joined = events(api.send(Method::GET, &format!("{path}/stream"), None).await).await;
    assert_eq!(names(&joined), expected);
}

#[tokio::test]
async fn another_server_of_the_store_has_the_events_of_a_run() {
    let store = Arc::new(MemoryCheckpointer::new());
    let owner = Api::start_with(Options::default(), Arc::clone(&store) as _).await;
    let run = ticking(&owner, 20, 20).await;
    let other = Api::start_with(Options::default(), store).await;
    let seen = events(rejoin(&other, &run, "-1").await).await;
    assert_eq!(check_numbers(&seen, 0), (1..=20).collect::<Vec<_>>());
    assert_eq!(seen, events(rejoin(&owner, &run, "-1").await).await);
    let values = other.get(&format!("{run}/join")).await;
    assert_eq!(values["ticks"], 20);
}

#[tokio::test]
async fn events_are_had_again_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (process, api) = Process::start(&store);
    let run = ticking(&api, 60, 10).await;
    let first = read_until(rejoin(&api, &run, "-1").await, |(_, data, _)| data["tick"] == 20).await;
    let mut ticks = check_numbers(&first, 0);
    let last = first.last().unwrap().2.unwrap();
    drop(process);
    let (_process, api) = Process::start(&store);
    let rest = events(rejoin(&api, &run, &last.to_string()).await).await;
    ticks.extend(check_numbers(&rest, last));
    // A tick that was in flight may come twice, and one may be in a gap; the last ones are there.
    assert_eq!(ticks.last(), Some(&60), "{rest:?}");
    let all = events(rejoin(&api, &run, "-1").await).await;
    check_numbers(&all, 0);
    assert_eq!(api.get(&run).await["status"], "success");
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams_and_goes_on_later() {
    let store = Arc::new(MemoryCheckpointer::new());
    let stop = superstep::graph::CancellationToken::new();
    let options = Options::default().stop_with(stop.clone());
    let api = Api::start_with(options, Arc::clone(&store) as _).await;
    let run = ticking(&api, 30, 10).await;
    let stream = rejoin(&api, &run, "-1").await;
    stop.cancel();
    let seen = events(stream).await;
    let (shutdown, seen) = seen.split_last().unwrap();
    assert_eq!((shutdown.0.as_str(), &shutdown.1), ("metadata", &json!({ "status": "shutdown" })));
    let last = seen.last().and_then(|(.., id)| *id).unwrap_or_default();
    let next = Api::start_with(Options::default(), store).await;
    let rest = events(rejoin(&next, &run, &last.to_string()).await).await;
    assert!(names(&rest).iter().all(|name| *name != "gap"), "{rest:?}");
    let mut ticks = check_numbers(seen, 0);
    ticks.extend(check_numbers(&rest, last));
    assert_eq!(ticks, (1..=30).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_thread_has_the_events_of_all_its_runs() {
    let api = Api::start().await;
    let path = format!("/threads/{}", api.thread().await);
    let stream = api.send(Method::GET, &format!("{path}/stream?stream_mode=run_modes"), None).await;
    for _ in 0..2 {
        api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "counter", "input": { "n": 0 } })).await;
    }
    let text = read_runs(stream, 2).await;
    let events: Vec<&str> = text.iter().map(|(name, ..)| name.as_str()).collect();
    let run = [["metadata"].as_slice(), &["values"; 6], &["metadata"]].concat();
    assert_eq!(events, [run.as_slice(), &run].concat());
    let request = api.client.get(format!("{}{path}/stream", api.address));
    let again = request.header("Last-Event-ID", text[3].2.clone().unwrap()).send().await.unwrap();
    assert_eq!(read_runs(again, 2).await, text[4..]);
}

/// Reads the events of a thread until this many runs have ended.
async fn read_runs(response: Response, runs: u32) -> Vec<AnyEvent> {
    let done = std::cell::Cell::new(0);
    let is_last_end = |(_, data, _): &AnyEvent| {
        done.set(done.get() + u32::from(data["status"] == "run_done"));
        done.get() == runs
    };
    read_raw(response, is_last_end).await
}

#[tokio::test]
async fn one_stream_shows_what_happens_to_all_threads() {
    let api = Api::start().await;
    let stream = api.send(Method::GET, "/events", None).await;
    let path = format!("/threads/{}", api.thread().await);
    api.post(&format!("{path}/runs/wait"), json!({ "assistant_id": "approval", "input": { "request": "x" } })).await;
    let answer = json!({ "assistant_id": "approval", "command": { "resume": "yes" } });
    api.post(&format!("{path}/runs/wait"), answer).await;
    api.send(Method::DELETE, &path, None).await;
    let seen = read_until(stream, |(_, data, _)| data["kind"] == "deleted").await;
    let mut kinds: Vec<&str> = seen.iter().map(|(_, data, _)| data["kind"].as_str().unwrap()).collect();
    kinds.dedup();
    let expected = ["started", "position", "question", "ended", "answered", "started", "position", "ended", "deleted"];
    assert_eq!(kinds, expected);
    let first = seen[0].2.unwrap();
    assert!(
        seen.iter()
            .map(|(_, data, id)| (data["seq"].as_u64(), *id))
            .eq((first..).map(|n| (Some(n), Some(n))).take(seen.len()))
    );
    let again = api.send(Method::GET, &format!("/events?since={}", first + 2), None).await;
    assert_eq!(read_until(again, |(_, data, _)| data["kind"] == "deleted").await, seen[3..]);
    let missed = api.send(Method::GET, "/events?since=1", None).await;
    let gap = read_until(missed, |_| true).await;
    assert_eq!((gap[0].0.as_str(), &gap[0].1["to"]), ("gap", &json!(first - 1)));
}

#[tokio::test]
async fn each_server_of_a_store_shows_what_the_others_do() {
    let store: Arc<dyn Checkpointer> = Arc::new(MemoryCheckpointer::new());
    let reader = Api::start_with(Options::default(), Arc::clone(&store)).await;
    let other = Api::start_with(Options::default(), store).await;
    let stream = reader.send(Method::GET, "/events", None).await;
    let thread = other.thread().await;
    let body = json!({ "assistant_id": "counter", "input": { "n": 0 } });
    other.post(&format!("/threads/{thread}/runs/wait"), body).await;
    let seen = read_until(stream, |(_, data, _)| data["kind"] == "ended").await;
    let stream = reader.send(Method::GET, &format!("/events?since={}", seen.last().unwrap().2.unwrap()), None).await;
    other.send(Method::DELETE, &format!("/threads/{thread}"), None).await;
    let seen = read_until(stream, |(_, data, _)| data["kind"] == "deleted").await;
    assert_eq!(seen.last().unwrap().1["thread"], *thread);
    assert_eq!(seen.iter().filter(|(_, data, _)| data["kind"] == "deleted").count(), 1);
}
