//! Many readers of one run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::StreamExt;
use reqwest::Client;
use serde_json::{Value, json};

use super::{Outcome, memory};

/// The pause between two events of the run, in milliseconds.
const PAUSE: u64 = 200;

/// A run that many clients read.
pub(crate) struct SharedRun<'a> {
    pub address: String,
    pub readers: usize,
    pub pid: Option<&'a String>,
}

impl SharedRun<'_> {
    /// Measures for a time how much later than the first reader the last one gets each event.
    pub(crate) async fn measure(self, seconds: u64) -> Outcome<()> {
        let before = self.pid.and_then(|pid| memory(pid));
        let opening = Duration::from_secs(2 + self.readers as u64 / 500);
        let steps = (seconds + opening.as_secs()) * 1000 / PAUSE;
        let path = self.start(steps).await?;
        let readers: Vec<_> =
            (0..self.readers).map(|_| tokio::spawn(read(format!("{}{path}", self.address)))).collect();
        tokio::time::sleep(opening + Duration::from_secs(1)).await;
        let open = self.pid.and_then(|pid| memory(pid));
        let mut arrivals: BTreeMap<u64, Vec<Instant>> = BTreeMap::new();
        for reader in readers {
            for (number, at) in reader.await?? {
                arrivals.entry(number).or_default().push(at);
            }
        }
        self.print(&arrivals);
        if let Some((before, open)) = before.zip(open) {
            println!("resident with {} streams: {} MiB, {} MiB before", self.readers, open / 1024, before / 1024);
        }
        Ok(())
    }

    /// Creates the run; returns the path of its stream.
    async fn start(&self, steps: u64) -> Outcome<String> {
        let (client, body) = (Client::new(), json!({}));
        let thread: Value = client.post(format!("{}/threads", self.address)).json(&body).send().await?.json().await?;
        let path = format!("/threads/{}/runs", thread["thread_id"].as_str().unwrap_or_default());
        let input = json!({ "steps": steps, "ms": PAUSE });
        let body = json!({ "assistant_id": "slow", "input": input, "stream_mode": "custom" });
        let run: Value = client.post(format!("{}{path}", self.address)).json(&body).send().await?.json().await?;
        Ok(format!("{path}/{}/stream", run["run_id"].as_str().unwrap_or_default()))
    }

    /// Prints the times between the first and the last reader of the events that all have got.
    fn print(&self, arrivals: &BTreeMap<u64, Vec<Instant>>) {
        let all = arrivals.values().filter(|times| times.len() == self.readers);
        let mut spreads: Vec<Duration> =
            all.filter_map(|times| Some(*times.iter().max()? - *times.iter().min()?)).collect();
        spreads.sort_unstable();
        let at = |part: f64| {
            spreads.get((spreads.len() as f64 * part) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        println!(
            "{} readers, {} events that all of them got: the last has an event after the first by p50 {:.1} ms, p99 {:.1} ms",
            self.readers,
            spreads.len(),
            at(0.5),
            at(0.99)
        );
    }
}

/// Reads a stream to its end; returns the numbers of its events, and when each came.
async fn read(url: String) -> Outcome<Vec<(u64, Instant)>> {
    let response = Client::new().get(url).send().await?.error_for_status()?;
    let (mut chunks, mut events) = (response.bytes_stream(), vec![]);
    while let Some(chunk) = chunks.next().await {
        let (at, chunk) = (Instant::now(), chunk?);
        let text = String::from_utf8_lossy(&chunk).into_owned();
        let numbers = text.lines().filter_map(|line| line.strip_prefix("id: ")?.trim().parse().ok());
        events.extend(numbers.map(|number: u64| (number, at)));
    }
    Ok(events)
}
