//! Workers on a shared store, with a PostgreSQL of its own and workers in other processes: the time until a worker takes over from a
//! killed one, the latency of an answer, and the cost of an idle worker with 10,000 waiting threads.
//!
//!     cargo bench --bench machines                    # everything, about four minutes
//!     cargo bench --bench machines -- answers --quick # one of them, smaller
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "it is a program that measures")]

mod figures;
mod graphs;
#[path = "../../tests/support/postgres.rs"]
mod server;
mod worker;

use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(worker) = std::env::var_os(worker::PROGRAM) {
        std::process::exit(graphs::program(&worker.to_string_lossy()).into());
    }
    let is_quick = words.iter().any(|word| word == "--quick" || word == "--test");
    let names = ["takeover", "answers", "idle"];
    let wanted =
        |name: &str| !words.iter().any(|word| names.contains(&word.as_str())) || words.iter().any(|word| word == name);
    let Some(server) = server::Server::start(&["shared_buffers=128MB"]) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if wanted("takeover") {
        for (lease, times) in if is_quick { [(1, 1), (2, 1)] } else { [(3, 5), (15, 2)] } {
            runtime.block_on(figures::takeover(&server, Duration::from_secs(lease), times));
        }
    }
    if wanted("answers") {
        runtime.block_on(figures::answers(&server, if is_quick { 20 } else { 200 }));
    }
    if wanted("idle") {
        let (threads, time) = if is_quick { (200, 2) } else { (10_000, 60) };
        runtime.block_on(figures::idle(&server, threads, Duration::from_secs(time)));
    }
}
