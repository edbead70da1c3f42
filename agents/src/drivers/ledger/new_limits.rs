//! Limits that people set during a run: each replaces the one before, in the order of the answers. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::account::{Account, RunLimits, time};
use crate::drivers::dollars;

/// Limits of a run that people set in place of the original ones. For each limit, the later answer counts.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::{NewLimits, RunLimits};
/// let tokens = |tokens| RunLimits { tokens: Some(tokens), ..RunLimits::default() };
/// let (first, second) = (NewLimits::set(tokens(500), 1), NewLimits::set(tokens(400), 2));
/// assert_eq!(second.later(first).over(tokens(100)), tokens(400));
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
    pub fn set(to: RunLimits, at: u64) -> Self {
        let RunLimits { cost, tokens, wall } = to;
        let amount = |limit: Option<u64>| limit.map(|limit| NewLimit { limit, at });
        Self { cost: amount(cost), tokens: amount(tokens), wall: wall.map(|limit| NewLimit { limit, at }) }
    }

    /// Returns the later one of each limit.
    #[must_use]
    pub fn later(self, other: Self) -> Self {
        Self {
            cost: later(self.cost, other.cost),
            tokens: later(self.tokens, other.tokens),
            wall: later(self.wall, other.wall),
        }
    }

    /// Returns `limits` with the new ones applied.
    pub fn over(self, limits: RunLimits) -> RunLimits {
        RunLimits {
            cost: self.cost.map(|new| new.limit).or(limits.cost),
            tokens: self.tokens.map(|new| new.limit).or(limits.tokens),
            wall: self.wall.map(|new| new.limit).or(limits.wall),
        }
    }
}

fn later<T>(one: Option<NewLimit<T>>, two: Option<NewLimit<T>>) -> Option<NewLimit<T>> {
    match (one, two) {
        (Some(one), Some(two)) => Some(if two.at >= one.at { two } else { one }),
        (one, two) => one.or(two),
    }
}

impl Account {
    /// Returns the reason why new limits would not let the run continue; `None` if they do.
    pub(super) fn objection(&self, to: RunLimits) -> Option<String> {
        let after = Self { limits: NewLimits::set(to, 0).over(self.limits), ..*self };
        let low: Vec<String> = Self { limits: to, ..*self }.reached_with().into_iter().map(too_low).collect();
        let all = after.reached_with().into_iter().filter(|(name, ..)| !has(&to, name)).map(still_reached);
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
        self.reached().into_iter().map(with).collect()
    }
}

fn has(limits: &RunLimits, name: &str) -> bool {
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
    format!("the limit `{name}`, {limit}, is still reached, for {used} is used: name a new one for it")
}
