//! This program as a child process, for measurements that need a fresh one: startup and memory. An environment variable
//! names its task; it prints one line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::bytes::memory_kb;
use super::measure::micros;
use super::{code_task, large, phases, startup, threads, transcript};

const TASK: &str = "SUPERSTEP_BENCH_TASK";
const FOLDER: &str = "SUPERSTEP_BENCH_FOLDER";

/// Runs the task of a child process; returns false in the parent.
pub(crate) fn run() -> bool {
    let Ok(task) = std::env::var(TASK) else { return false };
    let folder = std::env::var_os(FOLDER).unwrap_or_default();
    match task.as_str() {
        "nothing" => println!("0 {}", memory_kb("VmRSS")),
        "first-node" => startup::child(),
        "code-task" => code_task::child(Path::new(&folder)),
        "phases" => phases::child(Path::new(&folder)),
        "transcript" => transcript::child(Path::new(&folder)),
        "threads-memory" => threads::child(None),
        large if large.starts_with("large-") => large::child(large, Path::new(&folder)),
        _ => threads::child(Some(Path::new(&folder))),
    }
    true
}

/// Starts a child; returns the microseconds until its line, and the numbers in it.
pub(crate) fn start(task: &str, folder: &Path) -> (f64, Vec<f64>) {
    let program = std::env::current_exe().unwrap();
    let began = Instant::now();
    let mut child = Command::new(program).env(TASK, task).env(FOLDER, folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let took = micros(began.elapsed());
    assert!(child.wait().unwrap().success(), "{task} failed");
    (took, line.split_whitespace().map(|word| word.parse().unwrap()).collect())
}
