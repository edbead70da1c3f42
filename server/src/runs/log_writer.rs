//! The task that writes the log of events, and removes what has expired.
//!
//! Small because the log knows how it is written.

use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::CheckpointError;
use superstep_base::time::now;
use tokio::time::sleep;

use crate::progress::log::GATHER;
use crate::server::Server;

/// The interval at which events of earlier runs are removed.
const EXPIRY: Duration = Duration::from_secs(60);

/// Writes events as they come, and removes those that have expired, until no run is executed any more.
pub(crate) async fn write_all(server: Arc<Server>) {
    let mut expiry = tokio::time::interval(EXPIRY);
    loop {
        tokio::select! {
            () = server.log.has_events.notified() => {
                tokio::select! {
                    () = sleep(GATHER) => {}
                    () = server.log.has_waiting_readers.notified() => {}
                }
                server.log.write_gathered(&server.records).await;
            }
            _ = expiry.tick() => {
                if let Err(error) = remove_expired(&server).await {
                    tracing::warn!(%error, "events of earlier runs are not removed");
                }
            }
            () = server.closing.cancelled() => return,
        }
    }
}

async fn remove_expired(server: &Server) -> Result<(), CheckpointError> {
    server.records.remove_old_deletions(now()).await?;
    server.records.remove_expired_events(now()).await
}
