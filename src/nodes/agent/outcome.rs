//! The journalled outcome of one request to an agent, and the waits for a service that is busy or out. Pure, except for the
//! clock; knows no driver.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_base::backoff::backoff;
use superstep_base::text::start;
use superstep_base::time::now;

use super::budget::Overdraft;
use crate::drivers::{DriverError, DriverErrorClass, Finished, RetrySettings, Usage, fenced_json};
use crate::graph::Ctx;

/// The number of bytes that are stored of an agent's last message; the rest is in the session.
const SAID: usize = 16 * 1024;
/// The first and the longest wait of a turn for a service that is busy and does not say for how long.
const WAIT: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);
/// The longest wait for a service that says how long: then it is asked again.
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// The journal's record of one request to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RequestRecord {
    Finished(Finished),
    /// The service is busy until then, in milliseconds since 1970. Then the turn continues under its first name.
    Busy {
        until: u64,
        turn: String,
        /// The usage of the turn so far, with all repeated requests.
        #[serde(default)]
        used: Usage,
    },
    /// It failed. Another attempt of the task continues the turn, under its first name.
    Failed {
        why: String,
        turn: String,
        #[serde(default)]
        used: Usage,
    },
    /// The service cannot be reached or fails. The turn continues under its first name at `until`, in milliseconds
    /// since 1970.
    Down {
        outage: Outage,
        until: u64,
        turn: String,
        why: String,
        #[serde(default)]
        used: Usage,
    },
    /// The server refuses the session: a person decides.
    Refused {
        why: String,
        turn: String,
        #[serde(default)]
        used: Usage,
    },
    SessionLost {
        #[serde(default)]
        used: Usage,
    },
    /// The budget of the run is used up.
    Spent(Overdraft),
    /// The group of tasks that it belongs to was stopped.
    Stopped {
        why: String,
        #[serde(default)]
        used: Usage,
    },
}

impl RequestRecord {
    /// Subtracts usage that is already counted.
    pub(in crate::nodes) fn without_usage(mut self, counted: Usage) -> Self {
        let usage = match &mut self {
            Self::Finished(finished) => &mut finished.usage,
            Self::Busy { used, .. } | Self::Failed { used, .. } | Self::Down { used, .. } => used,
            Self::Refused { used, .. } | Self::SessionLost { used } | Self::Stopped { used, .. } => used,
            Self::Spent(Overdraft { used, .. }) => used,
        };
        *usage = usage.saturating_sub(counted);
        self
    }

    /// Returns the usage of the turn, unless its result has it.
    pub(in crate::nodes) fn unreported_usage(&self) -> Usage {
        match self {
            Self::Finished(_) => Usage::default(),
            Self::Busy { used, .. } | Self::Failed { used, .. } | Self::Down { used, .. } => *used,
            Self::Refused { used, .. } | Self::SessionLost { used } | Self::Spent(Overdraft { used, .. }) => *used,
            Self::Stopped { used, .. } => *used,
        }
    }
}

/// Returns the `nth` wait for a busy service, if the service does not say how long.
fn wait(nth: u32) -> Duration {
    backoff(WAIT, 2.0, nth, LONGEST_WAIT)
}

/// Returns the record of a request's end, and its failure, if it is one. `waits` is for a service that is busy or out;
/// none: nothing waits for it. `asks`: a person is asked about a session that is refused.
pub(super) fn record_end(
    ended: Result<Finished, DriverError>,
    (turn, used): (String, Usage),
    waits: Option<RetryContext<'_>>,
    asks: bool,
) -> (RequestRecord, Option<DriverError>) {
    let error = match ended {
        Ok(finished) => return (RequestRecord::Finished(truncate_text(finished)), None),
        Err(error) => error,
    };
    if error.class == DriverErrorClass::SessionLost {
        return (RequestRecord::SessionLost { used }, None);
    }
    let why = error.to_string();
    if asks && error.refusal {
        return (RequestRecord::Refused { why, turn, used }, Some(error));
    }
    let Some(waits) = waits else { return (RequestRecord::Failed { why, turn, used }, Some(error)) };
    if error.class == DriverErrorClass::RateLimited || error.retry_after.is_some() {
        let wait = error.retry_after.unwrap_or_else(|| wait(waits.progress.nth)).min(MONTH);
        return (RequestRecord::Busy { until: now().saturating_add(millis(wait)), turn, used }, None);
    }
    match waits.outage(now()).filter(|_| error.outage) {
        Some((outage, until)) => (RequestRecord::Down { outage, until, turn, why, used }, Some(error)),
        None => (RequestRecord::Failed { why, turn, used }, Some(error)),
    }
}

/// Truncates the text, after searching it for a result.
pub(super) fn truncate_text(mut finished: Finished) -> Finished {
    finished.submitted = finished.submitted.or_else(|| fenced_json(&finished.text));
    finished.text.truncate(start(&finished.text, SAID).len());
    finished
}

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

fn millis(time: Duration) -> u64 {
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
