//! Webhooks that are still to be sent. One is written with the end of its run, and removed when its target has accepted it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::checkpoint::ItemWrite;
use uuid::Uuid;

use super::items::{Record, create, put};
use super::timer::{Timer, TimerKind};

/// Record of a webhook that is still to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DeliveryRecord {
    pub run: Uuid,
    pub url: String,
    /// The run at its end, with its values.
    pub body: Value,
    pub created_at: u64,
    /// Number of attempts, one that is under way included.
    pub attempts: u32,
    /// Time of the next attempt: after the one under way, in case that its server dies.
    pub due: u64,
}

impl Record for DeliveryRecord {
    const NAMESPACE: &'static str = "superstep.server.deliveries";

    fn key(&self) -> String {
        self.run.to_string()
    }
}

impl DeliveryRecord {
    /// Returns the timer of its next attempt.
    pub(crate) fn timer(&self) -> Timer {
        Timer::new(TimerKind::Delivery, self.due, self.key())
    }

    /// Returns the writes of a new one.
    pub(crate) fn create(&self) -> [ItemWrite; 2] {
        [create(self), put(&self.timer())]
    }
}
