//! The account of a run: its limits, its use, the names of its turns. Pure; knows no file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::drivers::{Usage, dollars};

/// What is left of a budget; none where there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

/// How much all turns of a run may use together; none: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Time in which agents work. Turns at the same time count once; waiting for people does not count.
    pub wall: Option<Duration>,
}

/// What a run has used, and what it may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What its turns have used, those under way included.
    pub spent: Usage,
    /// How long agents have worked, in milliseconds.
    pub worked_ms: u64,
    /// What it may use, with the limits that people set.
    pub limits: RunLimits,
}

/// Which turn of which run uses something. For people who read the ledger's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::drivers) struct TurnName {
    pub(in crate::drivers) turn: String,
    pub(in crate::drivers) role: String,
    pub(in crate::drivers) task: String,
}

impl RunLimits {
    /// Returns whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Account {
    /// Returns the limits that are reached: `cost`, `tokens`, `wall`.
    pub fn reached(&self) -> Vec<&'static str> {
        let (cost, tokens) = (self.spent.cost, self.spent.tokens());
        let is_reached = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        let all = [
            ("cost", is_reached(self.limits.cost, cost)),
            ("tokens", is_reached(self.limits.tokens, tokens)),
            ("wall", is_reached(self.limits.wall.map(millis), self.worked_ms)),
        ];
        all.into_iter().filter(|(_, is_reached)| *is_reached).map(|(name, _)| name).collect()
    }

    /// Returns what was used of what, a line for each limit: `cost: $5.0213 of $5.0000`.
    pub fn lines(&self) -> Vec<String> {
        let RunLimits { cost, tokens, wall } = self.limits;
        let worked = || time(self.worked_ms / 1000);
        [
            cost.map(|limit| format!("cost: {} of {}", dollars(self.spent.cost), dollars(limit))),
            tokens.map(|limit| format!("tokens: {} of {limit}", self.spent.tokens())),
            wall.map(|limit| format!("wall: {} of {}", worked(), time(limit.as_secs()))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns whether more was used than a limit allows.
    pub(in crate::drivers) fn is_over(&self) -> bool {
        let is_over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used > limit);
        is_over(self.limits.cost, self.spent.cost) || is_over(self.limits.tokens, self.spent.tokens())
    }
}

/// Returns a time as text, in hours, minutes and seconds.
pub(super) fn time(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
