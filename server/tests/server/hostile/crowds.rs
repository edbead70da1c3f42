//! A thousand streams of one process, and readers that do not read: nobody misses an event, and no run waits for a reader.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::iter;
use reqwest::{Method, Response, StatusCode};
use rstest::rstest;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::Graphs;
use superstep::prelude::*;
use superstep_server::Options;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::api::{Api, events};
use crate::streams::{Event, check_numbers};

/// The number of streams.
const STREAMS: usize = 1000;
/// The number of connections that are opened at a time: the queue of a listener is short.
const AT_A_TIME: usize = 64;
/// The number of events that each run emits.
const TICKS: u64 = 10;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Ticker {
    /// The bytes of each event.
    size: usize,
    ticks: u64,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
enum Step {
    Tick,
}

/// Serves a graph whose runs wait until the gate is open, and then emit events.
async fn serve(gate: watch::Receiver<bool>) -> Api {
    let tick = move |ticker: Arc<Ticker>, ctx: Ctx| {
        let mut gate = gate.clone();
        async move {
            ctx.emit(json!({ "tick": 0 })).await;
            gate.wait_for(|is_open| *is_open).await?;
            for tick in 1..=TICKS {
                ctx.emit(json!({ "tick": tick, "filler": "x".repeat(ticker.size) })).await;
            }
            Ok::<_, NodeError>(Ticker::update().ticks(TICKS))
        }
    };
    let graph = StateGraph::new().add_node(Step::Tick, tick).add_sequence([Step::Tick]).compile().unwrap();
    let (graphs, store) = (Graphs::new().with(graph.named("ticker")), Arc::new(MemoryCheckpointer::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { Options::default().serve(graphs, store, listener).await });
    Api { client: reqwest::Client::new(), address }
}

/// Creates a run, and returns its path.
async fn create(api: &Api, size: usize, is_resumable: bool) -> String {
    let body = json!({
        "assistant_id": "ticker", "input": { "size": size }, "stream_mode": ["custom", "values"],
        "stream_resumable": is_resumable
    });
    let path = format!("/threads/{}/runs", api.thread().await);
    let run = api.post(&path, body).await;
    format!("{path}/{}", run["run_id"].as_str().unwrap())
}

/// Opens a stream of a run from its start.
async fn open(api: &Api, run: &str) -> Response {
    let request = api.client.request(Method::GET, format!("{}{run}/stream", api.address));
    let stream = request.header("Last-Event-ID", "-1").send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    stream
}

/// Lets this process have a connection with two ends for each stream.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

#[rstest]
#[case::of_one_run(1)]
#[case::of_many_runs(100)]
#[tokio::test]
async fn a_thousand_streams_have_all_events(#[case] runs: usize) {
    allow_open_files();
    let (gate, is_open) = watch::channel(false);
    let api = serve(is_open).await;
    let runs: Vec<String> = iter(0..runs).then(async |_| create(&api, 0, true).await).collect().await;
    let streams = iter(runs.iter().cycle().take(STREAMS)).map(|run| open(&api, run));
    let streams: Vec<Response> = streams.buffered(AT_A_TIME).collect().await;
    gate.send(true).unwrap();
    let all = join_all(streams.into_iter().map(events)).await;
    assert_eq!(all.len(), STREAMS);
    for seen in all {
        assert_eq!((check_end(&seen), check_numbers(&seen, 0)), (0, (0..=TICKS).collect()));
    }
}

/// Checks the end of a stream, and returns the number of events that are missing in it.
fn check_end(seen: &[Event]) -> u64 {
    check_numbers(seen, 0);
    let (name, data, _) = seen.last().unwrap();
    assert_eq!((name.as_str(), &data["ticks"]), ("values", &json!(TICKS)));
    let gaps = seen.iter().filter(|(name, ..)| name == "gap");
    gaps.map(|(_, data, _)| data["to"].as_u64().unwrap() + 1 - data["from"].as_u64().unwrap()).sum()
}

#[rstest]
#[case::whose_events_are_stored(true)]
#[case::whose_events_are_not_stored(false)]
#[tokio::test]
async fn a_run_does_not_wait_for_a_reader_that_does_not_read(#[case] is_resumable: bool) {
    let (gate, is_open) = watch::channel(false);
    let api = serve(is_open).await;
    // 20 MB: more than the buffers of a socket, and than a server keeps in memory of one run.
    let run = create(&api, 2 << 20, is_resumable).await;
    let stream = open(&api, &run).await;
    gate.send(true).unwrap();
    api.until(&run, |run| run["status"] == "success").await;
    let missing = check_end(&events(stream).await);
    assert!(missing == 0 || !is_resumable, "{missing} events are missing");
}
