//! Workers: the processes that run threads of a store, as its list of them says. Plain data, and the guard of an entry.

use serde::{Serialize, Serializer};
use superstep_base::time::rfc3339;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// A process that runs threads of a store. Times are in milliseconds since 1970, by the clock of the store. Its JSON is an
/// entry of `superstep workers --json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreWorker {
    /// The name, which no other live worker of the store has.
    pub name: String,
    /// The name of its machine.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// The time of its start.
    #[serde(serialize_with = "time_text")]
    pub since: u64,
    /// The time of its last sign of life.
    #[serde(serialize_with = "time_text")]
    pub last_seen: u64,
    /// The number of threads that it holds.
    pub threads: u32,
    /// The version of its program.
    pub version: String,
    /// The graphs whose threads it runs.
    pub graphs: Vec<String>,
}

fn time_text<S: Serializer>(millis: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&rfc3339(*millis))
}

/// The entry of this process in the list of workers. Dropping it removes the entry, without waiting for a store elsewhere.
#[derive(Debug, Default)]
#[must_use = "the entry is removed when the guard is dropped"]
pub struct WorkerGuard {
    stop: CancellationToken,
    removed: Option<oneshot::Receiver<()>>,
}

impl WorkerGuard {
    /// Returns the guard of an entry, for your own checkpointers: `stop` is cancelled when the entry is to be removed, and
    /// `removed` receives when that is done.
    pub fn new(stop: CancellationToken, removed: oneshot::Receiver<()>) -> Self {
        Self { stop, removed: Some(removed) }
    }

    /// Removes the entry.
    pub async fn leave(mut self) {
        self.stop.cancel();
        if let Some(removed) = self.removed.take() {
            _ = removed.await;
        }
    }
}

impl Drop for WorkerGuard {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
