//! Account of a run: limits, usage, names of turns. Pure; knows no file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::drivers::{Usage, dollars};

/// Remainder of a budget; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

/// Limits for all turns of a run together; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimits {
    /// Millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Time in which agents work. Parallel turns count once; waiting for people does not count.
    pub wall: Option<Duration>,
}

/// Usage and limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Usage of its turns, running ones included.
    pub spent: Usage,
    /// Working time of agents, in milliseconds.
    pub worked_ms: u64,
    /// Limits, including those that people set.
    pub limits: RunLimits,
}

/// Name of a turn in the ledger. For people who read its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::drivers) struct TurnName {
    pub(in crate::drivers) turn: String,
    pub(in crate::drivers) role: String,
    pub(in crate::drivers) task: String,
}

impl RunLimits {
    /// Returns whether there are no limits.
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

    /// Returns a line with usage and limit for each limit: `cost: $5.0213 of $5.0000`.
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

    /// Returns whether the usage exceeds a limit.
    pub(in crate::drivers) fn is_over(&self) -> bool {
        let is_over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used > limit);
        is_over(self.limits.cost, self.spent.cost) || is_over(self.limits.tokens, self.spent.tokens())
    }
}

/// Formats a time in hours, minutes and seconds.
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
