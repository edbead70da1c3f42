//! Garbage collection that somebody else runs: until it ends, git may remove objects that are new and that no reference
//! has yet.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::place::Workspace;

/// Age at which git takes the file of a collection for a leftover.
const STALE: Duration = Duration::from_secs(12 * 60 * 60);
/// Time after which the work goes on beside a collection.
const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);

/// Collections that were waited for in vain, each with its file and the time of that.
static ENDLESS: Mutex<BTreeSet<(PathBuf, SystemTime)>> = Mutex::new(BTreeSet::new());

impl Workspace {
    /// Waits until no `git gc` runs in the repository, for a minute at most, and once for each that lasts longer.
    pub(super) async fn after_collection(&self) {
        let mut left = PATIENCE;
        while let Some(running) = collection(&self.0.common_dir) {
            let endless = || ENDLESS.lock().unwrap_or_else(PoisonError::into_inner);
            if endless().contains(&running) {
                return;
            }
            if left.is_zero() {
                tracing::warn!(file = %running.0.display(), "`git gc` has run for a minute, or was killed: the work goes on beside it");
                endless().insert(running);
                return;
            }
            tokio::time::sleep(STEP).await;
            left = left.saturating_sub(STEP);
        }
    }
}

/// Returns the file of a collection that runs, and its time, as git itself finds out: the file has the id of the process,
/// and the host.
fn collection(common_dir: &Path) -> Option<(PathBuf, SystemTime)> {
    let file = common_dir.join("gc.pid");
    let written = fs::metadata(&file).and_then(|about| about.modified()).ok()?;
    let is_fresh = written.elapsed().map_or(true, |age| age < STALE);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let (id, host) = text.trim().split_once(' ').filter(|_| is_fresh)?;
    (!is_this_host(host) || is_alive(id)).then_some((file, written))
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
