//! A worker as a process, and what it and the server use.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::graphs::FILE;

/// Environment variable: the words of a command of a worker.
pub(crate) const PROGRAM: &str = "SUPERSTEP_BENCH_WORDS";

/// A process that ends with this value.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn start(name: &str, address: &str, notes: &Path) -> Self {
        let words = format!("runner --name {name} --store {address}");
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command = command.env(PROGRAM, words).env(FILE, notes).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Returns the CPU time of processes, and of their children that have ended.
pub(crate) fn cpu(pids: &[u32]) -> Duration {
    let ticks = |pid: &u32| -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        fields[11..15].iter().map(|field| field.parse::<u64>().ok()).sum()
    };
    Duration::from_millis(10 * pids.iter().filter_map(ticks).sum::<u64>())
}

/// Returns the resident memory of a process, in MB.
pub(crate) fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}
