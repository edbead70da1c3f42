//! The journalled outcome of one request to an agent. Pure, except for the clock.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep_base::backoff::backoff;
use superstep_base::time::now;

use super::budget::Overdraft;
use super::outage::{Outage, RetryContext, millis};
use crate::drivers::{DriverError, ErrorClass, Finished, Usage, fenced_json};

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
pub(super) enum Recorded {
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

impl Recorded {
    /// Subtracts usage that is already counted.
    pub(super) fn without(mut self, counted: Usage) -> Self {
        let usage = match &mut self {
            Self::Finished(finished) => &mut finished.usage,
            Self::Busy { used, .. } | Self::Failed { used, .. } | Self::Down { used, .. } => used,
            Self::Refused { used, .. } | Self::SessionLost { used } | Self::Stopped { used, .. } => used,
            Self::Spent(Overdraft { used, .. }) => used,
        };
        *usage = usage.beyond(counted);
        self
    }

    /// Returns the usage of the turn, unless its result has it.
    pub(super) fn used(&self) -> Usage {
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
pub(super) fn recorded(
    ended: Result<Finished, DriverError>,
    (turn, used): (String, Usage),
    waits: Option<RetryContext<'_>>,
    asks: bool,
) -> (Recorded, Option<DriverError>) {
    let error = match ended {
        Ok(finished) => return (Recorded::Finished(cut(finished)), None),
        Err(error) => error,
    };
    if error.class == ErrorClass::SessionLost {
        return (Recorded::SessionLost { used }, None);
    }
    let why = error.to_string();
    if asks && error.refusal {
        return (Recorded::Refused { why, turn, used }, Some(error));
    }
    let Some(waits) = waits else { return (Recorded::Failed { why, turn, used }, Some(error)) };
    if error.class == ErrorClass::RateLimited || error.retry_after.is_some() {
        let wait = error.retry_after.unwrap_or_else(|| wait(waits.progress.nth)).min(MONTH);
        return (Recorded::Busy { until: now().saturating_add(millis(wait)), turn, used }, None);
    }
    match waits.outage(now()).filter(|_| error.outage) {
        Some((outage, until)) => (Recorded::Down { outage, until, turn, why, used }, Some(error)),
        None => (Recorded::Failed { why, turn, used }, Some(error)),
    }
}

/// Truncates the text, after searching it for a result.
pub(super) fn cut(mut finished: Finished) -> Finished {
    finished.submitted = finished.submitted.or_else(|| fenced_json(&finished.text));
    if finished.text.len() > SAID {
        let end = (0..=SAID).rev().find(|&at| finished.text.is_char_boundary(at)).unwrap_or(0);
        finished.text.truncate(end);
    }
    finished
}
