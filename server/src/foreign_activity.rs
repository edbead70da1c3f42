//! Changes that other processes make to the threads of a store, looked for while somebody reads. Must not know routes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::ThreadId;
use superstep::graph::{StatusKind, ThreadFilter};
use superstep_base::time::{now, system_time};
use tokio::time::sleep;

use crate::activity::KEPT;
use crate::error::ApiResult;
use crate::progress::foreign::with_skew;
use crate::server::Server;

/// The interval at which changes by other processes are looked for, while somebody reads.
const PAUSE: Duration = Duration::from_millis(500);

/// Looks for changes by other processes while somebody reads, until the server stops.
pub(crate) async fn watch_others(server: Arc<Server>) {
    let mut seen = ForeignThreads { since: now(), places: HashMap::new() };
    while !server.stop.is_cancelled() {
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = server.stop.cancelled() => return,
        }
        if !server.activity.has_readers() {
            seen.since = now();
        } else if let Err(error) = seen.look(&server).await {
            tracing::warn!(%error, "changes by other processes are not seen");
        }
    }
}

/// The places of threads when they were looked at last.
struct ForeignThreads {
    since: u64,
    places: HashMap<ThreadId, (StatusKind, u64)>,
}

impl ForeignThreads {
    async fn look(&mut self, server: &Server) -> ApiResult<()> {
        let (own, began) = (server.executing.names(), now());
        let since = with_skew(self.since);
        for deletion in server.records.deletions_since(since).await? {
            server.activity.note_foreign_deletion(&deletion);
        }
        let filter = ThreadFilter::new().updated_since(system_time(since));
        for info in server.graphs.threads(filter).await?.threads {
            if own.contains(&info.id) {
                continue; // this server notes what it does; one that only tried a run of another looks again
            }
            let place = (info.status, info.updated_at);
            if self.places.insert(info.id.clone(), place) != Some(place) {
                server.activity.note_foreign(&info);
            }
        }
        if self.places.len() > KEPT {
            self.places.clear();
        }
        self.since = began;
        Ok(())
    }
}
