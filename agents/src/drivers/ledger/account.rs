//! Account of a run: limits, usage, names of turns; and the limits that people set during a run: each replaces the one
//! before, in the order of the answers. Pure; knows no file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::drivers::{Usage, dollars};

/// Remainder of a budget; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingBudget {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

/// Limits for all turns of a run together; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunLimits {
    /// Millionths of a dollar.
    pub cost: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Time in which agents work. Parallel turns count once; waiting for people does not count.
    pub wall: Option<Duration>,
}

impl RunLimits {
    /// Sets [`cost`](Self::cost), in millionths of a dollar.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Sets [`tokens`](Self::tokens).
    #[must_use]
    pub fn tokens(self, tokens: u64) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    /// Sets [`wall`](Self::wall).
    #[must_use]
    pub fn wall(self, wall: Duration) -> Self {
        Self { wall: Some(wall), ..self }
    }
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
    pub fn reached_limits(&self) -> Vec<&'static str> {
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
fn time(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Limits of a run that people set in place of the original ones. For each limit, the later answer counts.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{NewLimits, RunLimits};
/// let tokens = |tokens| RunLimits::default().tokens(tokens);
/// let (first, second) = (NewLimits::new(tokens(500), 1), NewLimits::new(tokens(400), 2));
/// assert_eq!(second.latest(first).apply_to(tokens(100)), tokens(400));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewLimits {
    /// Millionths of a dollar.
    pub cost: Option<NewLimit<u64>>,
    /// Tokens.
    pub tokens: Option<NewLimit<u64>>,
    /// Time in which agents work.
    pub wall: Option<NewLimit<Duration>>,
}

/// A limit that a person set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLimit<T> {
    /// The limit.
    pub limit: T,
    /// Time of the answer, in milliseconds since 1970. Unique within a ledger.
    pub at: u64,
}

/// The result of an answer that sets limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitsAnswer {
    /// The limits are set.
    Set(NewLimits),
    /// Nothing is set, for this reason.
    Refused(String),
}

impl NewLimits {
    /// Returns the limits that one answer sets.
    pub fn new(to: RunLimits, at: u64) -> Self {
        let RunLimits { cost, tokens, wall } = to;
        let amount = |limit: Option<u64>| limit.map(|limit| NewLimit { limit, at });
        Self { cost: amount(cost), tokens: amount(tokens), wall: wall.map(|limit| NewLimit { limit, at }) }
    }

    /// Returns the later one of each limit.
    #[must_use]
    pub fn latest(self, other: Self) -> Self {
        Self {
            cost: later_limit(self.cost, other.cost),
            tokens: later_limit(self.tokens, other.tokens),
            wall: later_limit(self.wall, other.wall),
        }
    }

    /// Returns `limits` with the new ones applied.
    pub fn apply_to(self, limits: RunLimits) -> RunLimits {
        RunLimits {
            cost: self.cost.map(|new| new.limit).or(limits.cost),
            tokens: self.tokens.map(|new| new.limit).or(limits.tokens),
            wall: self.wall.map(|new| new.limit).or(limits.wall),
        }
    }
}

fn later_limit<T>(one: Option<NewLimit<T>>, two: Option<NewLimit<T>>) -> Option<NewLimit<T>> {
    match (one, two) {
        (Some(one), Some(two)) => Some(if two.at >= one.at { two } else { one }),
        (one, two) => one.or(two),
    }
}

impl Account {
    /// Returns the reason why new limits would not let the run continue; `None` if they do.
    pub(super) fn objection(&self, to: RunLimits) -> Option<String> {
        let after = Self { limits: NewLimits::new(to, 0).apply_to(self.limits), ..*self };
        let low: Vec<String> = Self { limits: to, ..*self }.reached_with().into_iter().map(too_low).collect();
        let all = after.reached_with().into_iter().filter(|(name, ..)| !has_limit(&to, name)).map(still_reached);
        let all: Vec<String> = low.into_iter().chain(all).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Returns the limits that are reached: name, limit, usage.
    fn reached_with(&self) -> Vec<(&'static str, String, String)> {
        let RunLimits { cost, tokens, wall } = self.limits;
        let shown = |name: &str| match name {
            "cost" => (dollars(cost.unwrap_or_default()), dollars(self.spent.cost)),
            "tokens" => (tokens.unwrap_or_default().to_string(), self.spent.tokens().to_string()),
            _ => (time(wall.unwrap_or_default().as_secs()), time(self.worked_ms / 1000)),
        };
        let with = |name| {
            let (limit, used) = shown(name);
            (name, limit, used)
        };
        self.reached_limits().into_iter().map(with).collect()
    }
}

fn has_limit(limits: &RunLimits, name: &str) -> bool {
    match name {
        "cost" => limits.cost.is_some(),
        "tokens" => limits.tokens.is_some(),
        _ => limits.wall.is_some(),
    }
}

fn too_low((name, limit, used): (&str, String, String)) -> String {
    format!("the new limit `{name}`, {limit}, is not above what is used, {used}")
}

fn still_reached((name, limit, used): (&str, String, String)) -> String {
    format!("the limit `{name}` of {limit} is still reached: {used} is used; set a higher limit")
}
