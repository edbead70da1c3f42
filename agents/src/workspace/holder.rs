//! Process that holds the lock of a repository.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Holder of a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Id of the process; `None` if it is not known yet.
    pub pid: Option<u32>,
    /// Thread that it runs.
    pub thread: String,
    /// Start, in milliseconds since 1970 (UTC).
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
