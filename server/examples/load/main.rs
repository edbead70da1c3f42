//! Measures a running server: `load ADDRESS [wait|alone|stream|mcp|readers] [CLIENTS] [SECONDS] [PID]`. Each client creates a thread and a
//! run of the graph `counter`, and waits for it, again and again; with the process's number, the CPU time that it needs for a run is
//! printed too. `mcp` starts the run as a task and waits for the answer to its first poll. `readers` has all clients read one run of the
//! graph `slow`, and measures how much later than the first the last one gets each event.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

mod mcp;
mod process;
mod readers;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::{Value, json};

use process::{CpuTime, memory};

/// The server, unless another one is named.
const ADDRESS: &str = "http://127.0.0.1:2024";

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The requests that a client repeats.
#[derive(Clone, Copy, Debug)]
enum Scenario {
    Wait,
    Alone,
    Stream,
    Mcp,
}

struct Target {
    client: Client,
    address: String,
    scenario: Scenario,
}

impl Target {
    async fn post(&self, path: &str, body: &Value) -> Outcome<String> {
        let response = self.client.post(format!("{}{path}", self.address)).json(body).send().await?;
        Ok(response.error_for_status()?.text().await?)
    }

    async fn iterate(&self) -> Outcome<()> {
        let body = json!({ "assistant_id": "counter", "input": { "n": 0 } });
        if matches!(self.scenario, Scenario::Alone) {
            return check(&self.post("/runs/wait", &body).await?);
        }
        if matches!(self.scenario, Scenario::Mcp) {
            return mcp::start_and_poll(self).await;
        }
        let thread: Value = serde_json::from_str(&self.post("/threads", &json!({})).await?)?;
        let path = format!("/threads/{}/runs", thread["thread_id"].as_str().unwrap_or_default());
        match self.scenario {
            Scenario::Stream => check(&self.post(&format!("{path}/stream"), &body).await?),
            Scenario::Wait | Scenario::Alone | Scenario::Mcp => {
                check(&self.post(&format!("{path}/wait"), &body).await?)
            }
        }
    }
}

fn check(answer: &str) -> Outcome<()> {
    if answer.contains("\"n\":5") { Ok(()) } else { Err(format!("an unexpected answer: {answer}").into()) }
}

async fn measure(target: Arc<Target>, clients: usize, time: Duration) -> Outcome<Vec<Duration>> {
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let (target, over) = (Arc::clone(&target), Arc::clone(&over));
            tokio::spawn(async move {
                let mut times = vec![];
                while !over.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    target.iterate().await?;
                    times.push(begun.elapsed());
                }
                Outcome::Ok(times)
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    let mut all = vec![];
    for client in clients {
        all.extend(client.await??);
    }
    all.sort_unstable();
    Ok(all)
}

async fn run(words: &[String]) -> Outcome<()> {
    let word = |at: usize, default: &str| words.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let scenario = match word(1, "wait").as_str() {
        "wait" => Scenario::Wait,
        "alone" => Scenario::Alone,
        "stream" => Scenario::Stream,
        "mcp" => Scenario::Mcp,
        "readers" => {
            let run =
                readers::SharedRun { address: word(0, ADDRESS), readers: word(2, "1000").parse()?, pid: words.get(4) };
            return run.measure(word(3, "5").parse()?).await;
        }
        other => {
            return Err(format!("there is no scenario `{other}`: there are wait, alone, stream, mcp, readers").into());
        }
    };
    let (clients, seconds): (usize, u64) = (word(2, "32").parse()?, word(3, "5").parse()?);
    let target = Arc::new(Target { client: Client::new(), address: word(0, ADDRESS), scenario });
    measure(Arc::clone(&target), clients, Duration::from_millis(300)).await?;
    let before = words.get(4).and_then(|pid| CpuTime::of(pid));
    let begun = Instant::now();
    let times = measure(target, clients, Duration::from_secs(seconds)).await?;
    let (runs, wall) = (times.len(), begun.elapsed().as_secs_f64());
    let at = |part: f64| times.get((runs as f64 * part) as usize).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    println!(
        "{scenario:?}, {clients} clients: {:.0} runs/s; p50 {:.2} ms, p99 {:.2} ms",
        runs as f64 / wall,
        at(0.5),
        at(0.99)
    );
    if let (Some(pid), Some(before)) = (words.get(4), before) {
        let used = CpuTime::of(pid).unwrap_or(before) - before;
        let [all, store] = [used.all, used.store].map(|time| time as f64 / runs as f64);
        let resident = memory(pid).unwrap_or(0) / 1024;
        println!(
            "CPU of the server: {all:.3} ms a run, of which {store:.3} in threads of the store; resident {resident} MiB"
        );
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
