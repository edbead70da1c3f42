//! The events of runs whose server is killed: their numbers, and that a reader that comes back has those of each superstep once, however
//! the moment of the kill lies between a commit and the write of its events.

use std::time::Duration;

use reqwest::header::HeaderName;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::kills::{pause, seeds};
use super::site::Site;
use crate::api::Api;
use crate::rng::Rng;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The number of runs of a round, and the supersteps of each.
const RUNS: u64 = 8;
const STEPS: u64 = 15;
/// The longest time between events, heartbeats among them.
const LIMIT: Duration = Duration::from_secs(40);

/// A run, and the events of it that a reader has got.
pub(super) struct Reading {
    pub(super) path: String,
    /// Names, data and numbers.
    pub(super) events: Vec<(String, Value, u64)>,
    has_ended: bool,
}

impl Reading {
    pub(super) fn of(path: &str) -> Self {
        Self { path: path.to_owned(), events: vec![], has_ended: false }
    }

    /// Creates a run, on a thread that has had one if `is_second`.
    async fn start(api: &Api, label: &str, is_second: bool) -> Self {
        if is_second {
            let input = json!({ "label": format!("{label}.before"), "entries": 2, "number": 0, "ms": 0 });
            let body = json!({ "assistant_id": "ledger", "input": input, "if_not_exists": "create" });
            assert_eq!(api.post(&format!("/threads/{label}/runs/wait"), body).await["number"], 2);
        }
        let input = json!({ "label": label, "entries": STEPS, "number": 0, "ms": 1 });
        let modes = ["values", "updates", "tasks", "checkpoints", "custom"];
        let body = json!({ "assistant_id": "ledger", "input": input, "stream_mode": modes, "if_not_exists": "create" });
        let run = api.post(&format!("/threads/{label}/runs"), body).await;
        Self::of(&format!("/threads/{label}/runs/{}/stream", run["run_id"].as_str().unwrap()))
    }

    /// Reads what comes after the last event that was read, until the run has ended or the server is gone.
    async fn read(mut self, api: &Api) -> Self {
        let last = self.events.last().map_or(-1, |(.., id)| *id as i64);
        let request = api.client.get(format!("{}{}", api.address, self.path)).header(LAST_EVENT, last.to_string());
        let Ok(mut response) = request.send().await else { return self };
        let mut text = String::new();
        loop {
            let Ok(chunk) = timeout(LIMIT, response.chunk()).await else {
                let run = api.get(self.path.trim_end_matches("/stream")).await;
                panic!("no event comes: {run}\n{}", self.describe());
            };
            match chunk {
                Ok(Some(bytes)) => text += std::str::from_utf8(&bytes).unwrap(),
                Ok(None) => self.has_ended = true,
                Err(_) => return self,
            }
            while let Some((block, rest)) = text.split_once("\r\n\r\n") {
                self.add(block);
                text = rest.to_owned();
            }
            if self.has_ended {
                return self;
            }
        }
    }

    fn add(&mut self, block: &str) {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        let (Some(name), Some(data), Some(id)) = (field("event: "), field("data: "), field("id: ")) else { return };
        self.events.push((name.to_owned(), serde_json::from_str(data).unwrap(), id.parse().unwrap()));
    }

    /// Checks that numbers grow by one, but for those that are said to be missing.
    pub(super) fn check_numbers(&self) {
        assert!(self.has_ended);
        let mut last = 0;
        for (name, data, id) in &self.events {
            let first = if name == "gap" { data["from"].as_u64().unwrap() } else { *id };
            assert_eq!(first, last + 1, "{}", self.describe());
            last = *id;
        }
    }

    /// Checks that there is what each superstep has, once.
    fn check(&self) {
        self.check_numbers();
        let all: Vec<u64> = (1..=STEPS).collect();
        let starts = |name: &str, data: &Value| name == "tasks" && data["input"].is_object();
        for (what, found) in [
            ("updates", self.numbers(|name, data| Some(&data["write"]["number"]).filter(|_| name == "updates"))),
            ("values", self.numbers(|name, data| Some(&data["number"]).filter(|_| name == "values"))),
            (
                "checkpoints",
                self.numbers(|name, data| {
                    let is_its = name == "checkpoints" && data["metadata"]["source"] == "loop";
                    Some(&data["values"]["number"]).filter(|_| is_its)
                }),
            ),
            ("ends", self.numbers(|name, data| Some(&data["result"]["number"]).filter(|_| name == "tasks"))),
        ] {
            assert_eq!(found, all, "{what}: {}", self.describe());
        }
        let of_input = self.events.iter().filter(|(name, data, _)| name == "values" && data["number"] == 0);
        assert_eq!(of_input.count(), 1, "{}", self.describe());
        let started = self.events.iter().filter(|(name, data, _)| starts(name, data));
        assert_eq!(started.count() as u64, STEPS, "{}", self.describe());
    }

    /// Returns the numbers of events but for 0, which is in the input.
    fn numbers<'a>(&'a self, number: impl Fn(&str, &'a Value) -> Option<&'a Value>) -> Vec<u64> {
        let numbers = self.events.iter().filter_map(|(name, data, _)| number(name, data)?.as_u64());
        numbers.filter(|number| *number > 0).collect()
    }

    fn describe(&self) -> String {
        let number = |data: &Value| {
            let places = ["/number", "/write/number", "/values/number", "/result/number", "/from"];
            places.iter().find_map(|place| data.pointer(place)).cloned().unwrap_or_default()
        };
        let events = self.events.iter().map(|(name, data, id)| format!("{id} {name} {}\n", number(data)));
        format!("{}\n{}", self.path, events.collect::<String>())
    }
}

/// Reads runs at a server, each to its end or to that of the server.
pub(super) async fn read_all(api: &Api, readings: Vec<Reading>) -> Vec<Reading> {
    let mut readers = JoinSet::new();
    for reading in readings {
        let api = api.again();
        readers.spawn(async move { reading.read(&api).await });
    }
    readers.join_all().await
}

#[rstest]
#[case::sled(Site::sled, 6)]
#[case::fjall(Site::fjall, 2)]
#[case::postgres(Site::postgres, 3)]
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_after_a_kill_has_each_superstep_once(
    #[case] site: fn() -> Option<Site>,
    #[case] rounds: u64,
) {
    for seed in seeds(rounds) {
        let (Some(site), mut rng) = (site(), Rng::new(seed)) else { return };
        eprintln!("seed {seed}, {}", site.store().display());
        let (process, api) = site.start();
        let mut readings = vec![];
        for nth in 0..RUNS {
            readings.push(Reading::start(&api, &format!("r{nth}"), nth % 2 == 1).await);
        }
        let reading = tokio::spawn(async move { read_all(&api, readings).await });
        pause(&mut rng, if seed.is_multiple_of(2) { 60 } else { 400 }).await;
        drop(process);
        let (_process, api) = site.start();
        let first = reading.await.unwrap();
        let late = first.iter().map(|reading| Reading::of(&reading.path)).collect();
        let (back, late) = tokio::join!(read_all(&api, first), read_all(&api, late));
        back.iter().chain(&late).for_each(Reading::check);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_a_server_go_on_when_another_one_that_executes_their_runs_is_killed() {
    for seed in seeds(3) {
        let (Some(site), mut rng) = (Site::postgres(), Rng::new(seed)) else { return };
        let ((process, executor), (_process, other)) = (site.start(), site.start());
        let mut readings = vec![];
        for nth in 0..RUNS {
            readings.push(Reading::start(&executor, &format!("r{nth}"), nth % 2 == 1).await);
        }
        let reading = tokio::spawn(async move { read_all(&other, readings).await });
        pause(&mut rng, 600).await;
        drop(process);
        reading.await.unwrap().iter().for_each(Reading::check);
    }
}
