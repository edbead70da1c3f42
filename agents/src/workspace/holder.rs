//! The process that holds the lock of a repository.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Who works in a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process; none if it did not say yet.
    pub pid: Option<u32>,
    /// The thread that it runs.
    pub thread: String,
    /// Since when, in ms since 1970 (UTC).
    pub since: u64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else { return f.write_str("a process that did not say who it is") };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
        let seconds = now.saturating_sub(self.since.into()) / 1000;
        write!(f, "thread `{}` in process {pid}, for {seconds} s", self.thread)
    }
}
