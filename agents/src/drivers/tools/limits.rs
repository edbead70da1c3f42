//! Limits of the tools. Data only.

use std::time::Duration;

/// How much tools take and give. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// The largest file that is read, searched, written or edited; 10 MiB.
    pub file: usize,
    /// The longest answer; 96 KiB. What is beyond is cut, and said.
    pub answer: usize,
    /// Entries of a listing; 2000.
    pub entries: usize,
    /// Lines that a search gives; 300.
    pub matches: usize,
    /// Time for one search; 30 seconds.
    pub search: Duration,
    /// Time for one command; 10 minutes.
    pub command: Duration,
    /// CPU time of each process of a command; 10 minutes.
    pub cpu: Duration,
    /// What a command may write before it is ended; 64 MiB.
    pub output: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        let minutes = |n: u64| Duration::from_secs(n * 60);
        Self {
            file: 10 * MIB,
            answer: 96 * 1024,
            entries: 2000,
            matches: 300,
            search: Duration::from_secs(30),
            command: minutes(10),
            cpu: minutes(10),
            output: 64 * MIB,
        }
    }
}
