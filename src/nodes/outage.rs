//! Outages of a model's service: their start, waits and messages. Knows times, no driver.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_base::time::now;

use crate::drivers::RetrySettings;
use crate::graph::Ctx;

/// The longest wait between two requests during an outage.
const LONGEST_OUTAGE_WAIT: Duration = Duration::from_secs(60);
const BEAT: Duration = Duration::from_secs(5);

/// A time during which a service cannot be reached or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outage {
    /// Start in milliseconds since 1970.
    since: u64,
    /// The usage of the turn by then: a turn that gets further meets another outage.
    furthest: u64,
}

/// The progress of a turn between its requests.
#[derive(Default)]
pub(super) struct Progress {
    /// The number of requests.
    pub(super) nth: u32,
    /// First name of the turn.
    pub(super) turn: Option<String>,
    outage: Option<Outage>,
    /// The number of waits for the present outage.
    waits: u32,
}

impl Progress {
    /// Continues after the budget was raised, under the turn's name or a new one.
    pub(super) fn after_raise(&mut self, turn: Option<String>) {
        *self = Self { nth: self.nth + 1, turn, ..Self::default() };
    }

    pub(super) fn next(&mut self, turn: String, outage: Option<Outage>) {
        let waits =
            if outage.is_some() && outage == self.outage { self.waits + 1 } else { u32::from(outage.is_some()) };
        *self = Self { nth: self.nth + 1, turn: Some(turn), outage, waits };
    }
}

/// The conditions under which a failed request is followed by another.
pub(super) struct RetryContext<'a> {
    pub(super) progress: &'a Progress,
    pub(super) furthest: u64,
    pub(super) retry: &'a RetrySettings,
}

impl RetryContext<'_> {
    /// Returns the outage of a failed request and the time of the next one; none if the patience is used up.
    pub(super) fn outage(&self, now: u64) -> Option<(Outage, u64)> {
        let known = self.progress.outage.filter(|known| self.furthest <= known.furthest);
        let outage = known.unwrap_or(Outage { since: now, furthest: self.furthest });
        let end = outage.since.saturating_add(millis(self.retry.patience));
        let waits = known.map_or(0, |_| self.progress.waits);
        let wait = self.retry.wait.saturating_mul(10).saturating_mul(1 << waits.min(10)).min(LONGEST_OUTAGE_WAIT);
        (now < end).then(|| (outage, now.saturating_add(millis(wait)).min(end)))
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Waits in place: the end is in the journal, and another process waits for the rest.
pub(super) async fn wait_until<C>(until: u64, ctx: &Ctx<C>) {
    loop {
        let left = Duration::from_millis(until.saturating_sub(now()));
        if left.is_zero() {
            return;
        }
        ctx.heartbeat();
        tokio::time::sleep(left.min(BEAT)).await;
    }
}

/// Formats an outage as a line.
pub(super) fn outage_message(why: &str, until: u64, outage: Outage, retry: &RetrySettings) -> String {
    let seconds = |millis: u64| Duration::from_secs(millis.div_ceil(1000));
    let wait = seconds(until.saturating_sub(now()));
    let left = seconds(outage.since.saturating_add(millis(retry.patience)).saturating_sub(now()));
    format!("{why}; asks again in {wait:?}, and gives up in {left:?}")
}
