//! The server's process: the CPU time that it has used, that of the store's threads apart, and its memory. Knows Linux.

use std::fs::{read_dir, read_to_string};
use std::ops::Sub;

/// The beginnings of the names of threads that write to a store.
const STORE: &[&str] = &["superstep-commi", "sled-", "fjall"];

/// CPU time in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CpuTime {
    pub(super) all: u64,
    /// The part of the threads that write to the store.
    pub(super) store: u64,
}

impl CpuTime {
    /// Returns the CPU time that a process has used; `None` where that is not known.
    pub(super) fn of(pid: &str) -> Option<Self> {
        let all = ticks(&format!("/proc/{pid}/stat"))? * 10;
        let threads = read_dir(format!("/proc/{pid}/task")).ok()?.filter_map(Result::ok);
        let store = threads.filter_map(|thread| {
            let folder = thread.path();
            let name = read_to_string(folder.join("comm")).ok()?;
            let is_store = STORE.iter().any(|start| name.starts_with(start));
            ticks(&folder.join("stat").display().to_string()).filter(|_| is_store)
        });
        Some(Self { all, store: store.sum::<u64>() * 10 })
    }
}

impl Sub for CpuTime {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        let [all, store] =
            [(self.all, earlier.all), (self.store, earlier.store)].map(|(now, then)| now.saturating_sub(then));
        Self { all, store }
    }
}

/// Returns the time in a file `stat`, in hundredths of a second.
fn ticks(path: &str) -> Option<u64> {
    let stat = read_to_string(path).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11..13)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

/// Returns the resident memory of a process, in KiB.
pub(super) fn memory(pid: &str) -> Option<u64> {
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
