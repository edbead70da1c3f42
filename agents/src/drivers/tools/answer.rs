//! Result of a tool call as the model gets it, or the refusal of the call, and the limits of both. Pure.

use std::time::Duration;

use superstep_base::text::start;

/// Result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// Set if the call succeeded.
    pub ok: bool,
    /// Text for the model.
    pub text: String,
}

/// Reason why a tool did not run, for the model.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl Refusal {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Limits of the tools. Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Largest file that is read, searched, written or edited. Default: 10 MiB.
    pub file: usize,
    /// Longest result; anything beyond is cut, with a note. Default: 96 KiB.
    pub answer: usize,
    /// Entries of a listing. Default: 2000.
    pub entries: usize,
    /// Lines found by a search. Default: 300.
    pub matches: usize,
    /// Time for one search. Default: 30 seconds.
    pub search: Duration,
    /// Time for one command. Default: 10 minutes.
    pub command: Duration,
    /// CPU time of each process of a command. Default: 10 minutes.
    pub cpu: Duration,
    /// Output of a command before it is killed. Default: 64 MiB.
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

/// Cuts text that is longer than `most` bytes, with a note.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let (end, all) = (start(&text, most).len(), text.len());
        text.truncate(end);
        text.push_str(&format!("\n[cut here: {end} of {all} bytes]"));
    }
    text
}

/// Shortens a name for a message.
pub(super) fn short_name(name: &str) -> String {
    let name = name.chars().take(200).flat_map(char::escape_debug);
    name.collect()
}
