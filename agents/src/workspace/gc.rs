//! Garbage collection that somebody else runs: until it ends, git may remove objects that are new and that no reference
//! has yet.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::place::Workspace;

/// Age at which git takes the file of a collection for a leftover.
const STALE: Duration = Duration::from_secs(12 * 60 * 60);
/// Time after which the work goes on beside a collection.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);

impl Workspace {
    /// Waits until no `git gc` runs in the repository, for a minute at most.
    pub(super) async fn after_collection(&self) {
        let mut left = PATIENCE;
        while !left.is_zero() && is_collecting(&self.0.common_dir) {
            tokio::time::sleep(STEP).await;
            left = left.saturating_sub(STEP);
        }
    }
}

/// Returns whether a process collects garbage, as git itself finds out: its file has the id of the process, and the host.
fn is_collecting(common_dir: &Path) -> bool {
    let file = common_dir.join("gc.pid");
    let written = fs::metadata(&file).and_then(|about| about.modified());
    let is_fresh = written.is_ok_and(|written| written.elapsed().map_or(true, |age| age < STALE));
    let text = fs::read_to_string(&file).unwrap_or_default();
    let Some((id, host)) = text.trim().split_once(' ').filter(|_| is_fresh) else { return false };
    !is_this_host(host) || is_alive(id)
}

/// Returns whether a host is this one; where the system has no file with its name, every host is.
fn is_this_host(host: &str) -> bool {
    fs::read_to_string("/proc/sys/kernel/hostname").map_or(true, |name| name.trim() == host)
}

#[cfg(unix)]
fn is_alive(id: &str) -> bool {
    let process = id.parse().ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_: &str) -> bool {
    true
}
