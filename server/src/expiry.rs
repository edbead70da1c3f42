//! Removal of items of the long-term store that have expired, once a minute. Knows no route.
//!
//! Small because the store knows what has expired.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::server::Server;

/// Time between two removals.
const INTERVAL: Duration = Duration::from_secs(60);

/// Removes expired items until the server stops.
pub(crate) async fn remove_expired_items(server: Arc<Server>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while server.stop.run_until_cancelled(ticks.tick()).await.is_some() {
        if let Err(error) = server.memory.remove_expired().await {
            tracing::warn!(%error, "expired items of the long-term store were not removed");
        }
    }
}
