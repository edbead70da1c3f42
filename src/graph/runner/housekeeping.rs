//! What a runner removes from a store at an interval: finished threads that have expired, and what no kept checkpoint needs. Knows
//! rules and a clock; must not know turns.

use std::time::Duration;

use superstep_base::panics::catch_panic_in;
use tokio::time::{MissedTickBehavior, interval};

use crate::checkpoint::{
    CheckpointError, Checkpointer, Expiry, ExpiryReport, Retention, StoreGcReport, expire_threads, gc_all,
};
use crate::graph::records::Host;

/// The outcome of a removal.
pub(super) type Removal = Result<(ExpiryReport, StoreGcReport), CheckpointError>;

/// Rules of removal, and how often they are applied.
#[derive(Clone, Debug)]
pub(super) struct Housekeeping {
    pub(super) interval: Duration,
    pub(super) expiry: Expiry,
    pub(super) retention: Retention,
}

impl Housekeeping {
    /// Applies the rules to a store at once and at each interval, until it is dropped.
    pub(super) async fn run(self, store: &dyn Checkpointer, host: &Host, report: impl Fn(Removal)) {
        let mut ticks = interval(self.interval.max(Duration::from_secs(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match catch_panic_in(self.apply(store, host)).await {
                Ok(done) => {
                    log(&done);
                    report(done);
                }
                Err(panic) => tracing::error!(panic, "the removal of what is not kept panicked"),
            }
        }
    }

    async fn apply(&self, store: &dyn Checkpointer, host: &Host) -> Removal {
        let (mut expiry, mut retention) = (self.expiry.clone(), self.retention.clone());
        if let Some(clock) = &host.clock {
            expiry = expiry.at(clock.now());
            retention = retention.as_of(host.now());
        }
        let expired = expire_threads(store, &expiry).await?;
        Ok((expired, gc_all(store, &retention).await?))
    }
}

fn log(done: &Removal) {
    match done {
        Ok((expired, swept)) => tracing::info!(%expired, swept = %swept.total(), "removed what is not kept"),
        Err(error) => tracing::warn!(%error, "what is not kept was not removed"),
    }
}
