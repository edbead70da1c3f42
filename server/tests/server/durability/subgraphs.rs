//! The events of subgraphs of runs whose server is killed: a reader that comes back has the same ones as of a run that nothing has
//! disturbed, however the moment of the kill lies between the supersteps of the subgraphs and of the graph around them.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};

use super::kills::{pause, seeds};
use super::numbers::{Reading, read_all};
use super::site::Site;
use crate::api::{Api, Process};
use crate::rng::Rng;

/// The number of runs of a round.
const RUNS: u64 = 4;

/// Creates a run on a thread. If it is to answer, one before it has asked a question in a subgraph.
async fn start(api: &Api, thread: &str, answers: bool) -> Reading {
    let mut body = json!({
        "assistant_id": "tour", "input": { "rounds": 2, "ms": 4, "asks": answers }, "stream_subgraphs": true,
        "stream_mode": ["values", "updates", "tasks", "checkpoints"], "if_not_exists": "create",
    });
    if answers {
        api.post(&format!("/threads/{thread}/runs/wait"), body.clone()).await;
        (body["input"], body["command"]) = (json!(null), json!({ "resume": "left" }));
    }
    let run = api.post(&format!("/threads/{thread}/runs"), body).await;
    Reading::of(&format!("/threads/{thread}/runs/{}/stream", run["run_id"].as_str().unwrap()))
}

/// Returns a name without the tasks in it: their numbers depend on the order in which parallel ones store something.
fn without_tasks(name: &str) -> String {
    let place = |place: &str| place.split(':').next().unwrap_or_default().to_owned();
    name.split('|').map(place).collect::<Vec<_>>().join("|")
}

fn remove_ids(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|field, _| {
            !matches!(field.as_str(), "id" | "run_id" | "config" | "configurable" | "parents" | "thread_id")
        });
        fields.values_mut().for_each(remove_ids);
    }
    value.as_array_mut().into_iter().flatten().for_each(remove_ids);
}

/// Returns the events of a run without numbers and ids, each with how often it came.
fn counts(reading: &Reading) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for (name, data, _) in reading.events.iter().filter(|(name, ..)| !matches!(name.as_str(), "gap" | "metadata")) {
        let mut data = data.clone();
        remove_ids(&mut data);
        *counts.entry(format!("{} {data}", without_tasks(name))).or_default() += 1;
    }
    counts
}

/// Fails if the events are not those of the other run.
fn check(reading: &Reading, expected: &BTreeMap<String, u32>) {
    reading.check_numbers();
    let found = counts(reading);
    let differs = |(event, count): &(&String, &u32)| found.get(*event) != Some(*count);
    let missing: Vec<_> = expected.iter().filter(differs).collect();
    let excess: Vec<_> = found.iter().filter(|(event, count)| expected.get(*event) != Some(*count)).collect();
    let names = reading.events.iter().map(|(name, data, id)| format!("{id} {name} {data}\n")).collect::<String>();
    assert!(
        missing.is_empty() && excess.is_empty(),
        "{}\nexpected {missing:#?}\nfound {excess:#?}\n{names}",
        reading.path
    );
}

/// Checks that the checkpoints of each call of a subgraph come in their order.
fn check_order(reading: &Reading) {
    let mut steps: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (name, data, _) in reading.events.iter().filter(|(name, ..)| name.starts_with("checkpoints|")) {
        steps.entry(name).or_default().push(data["metadata"]["step"].as_i64().unwrap());
    }
    for (name, steps) in steps {
        let first = steps[0];
        assert!(steps.iter().copied().eq((first..).take(steps.len())), "{name}: {steps:?}");
    }
}

/// Kills a server, and returns the next one, and what the readers have got from the first.
async fn kill(
    site: &Site,
    (process, api): (Process, Api),
    readings: Vec<Reading>,
    after: &mut Rng,
) -> ((Process, Api), Vec<Reading>) {
    let reading = tokio::spawn(async move { read_all(&api, readings).await });
    pause(after, 250).await;
    drop(process);
    (site.start(), reading.await.unwrap())
}

#[rstest]
#[case::sled(Site::sled, 6)]
#[case::fjall(Site::fjall, 2)]
#[case::postgres(Site::postgres, 2)]
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_after_kills_has_each_event_of_a_subgraph_once(
    #[case] site: fn() -> Option<Site>,
    #[case] rounds: u64,
) {
    for seed in seeds(rounds) {
        let (Some(site), mut rng) = (site(), Rng::new(seed)) else { return };
        eprintln!("seed {seed}, {}", site.store().display());
        let mut server = site.start();
        let mut readings = vec![];
        for nth in 0..RUNS {
            readings.push(start(&server.1, &format!("r{nth}"), nth % 2 == 1).await);
        }
        for _ in 0..1 + seed % 2 {
            (server, readings) = kill(&site, server, readings, &mut rng).await;
        }
        let late = readings.iter().map(|reading| Reading::of(&reading.path)).collect();
        let api = &server.1;
        let undisturbed = vec![start(api, "first", false).await, start(api, "second", true).await];
        let (back, late, undisturbed) =
            tokio::join!(read_all(api, readings), read_all(api, late), read_all(api, undisturbed));
        for reading in back.iter().chain(&late) {
            let answers = !reading.path.contains("/r0/") && !reading.path.contains("/r2/");
            let same = undisturbed.iter().find(|other| other.path.contains("/second/") == answers).unwrap();
            check(reading, &counts(same));
            check_order(reading);
        }
    }
}
