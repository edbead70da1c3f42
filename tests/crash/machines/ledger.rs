//! What happens in all processes, in one order: lines that each process appends to one file. Knows no store.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Environment variable: the file.
pub(crate) const FILE: &str = "SUPERSTEP_MACHINES_LEDGER";

/// The file, opened to append.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    file: File,
}

/// A line: its first word, the process that wrote it, the time, the rest.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) kind: String,
    pub(crate) pid: u32,
    /// By [`uptime`].
    pub(crate) time: u64,
    pub(crate) words: Vec<String>,
}

impl Ledger {
    /// Opens the file that the environment names.
    pub(crate) fn named() -> Self {
        Self::at(Path::new(&std::env::var_os(FILE).unwrap()))
    }

    pub(crate) fn at(path: &Path) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        Self { path: path.to_owned(), file }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line of this process.
    pub(crate) fn note(&self, line: &str) {
        self.note_of(std::process::id(), line);
    }

    /// Appends a line about a process. One write: lines of several processes do not mix, and a kill leaves no half of one.
    pub(crate) fn note_of(&self, pid: u32, line: &str) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        (&self.file).write_all(format!("{kind} {pid} {} {rest}\n", uptime()).as_bytes()).unwrap();
        self.file.sync_data().unwrap();
    }

    /// Notes that an execution of an effect begins, and returns its name.
    pub(crate) fn begin(&self, thread: &str, effect: &str, id: &str) -> String {
        static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
        let execution = format!("{}.{}", std::process::id(), EXECUTIONS.fetch_add(1, Ordering::Relaxed));
        self.note(&format!("begin {thread} {effect} {execution} {id}"));
        execution
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.path).unwrap();
        let parse = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let (kind, pid) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
            let time = words.next().unwrap().parse().unwrap();
            Line { kind, pid, time, words: words.filter(|word| !word.is_empty()).collect() }
        };
        text.lines().map(parse).collect()
    }
}

/// Returns the time since the machine was started, in milliseconds: no clock that can be set.
fn uptime() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    (text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1000.0) as u64
}
