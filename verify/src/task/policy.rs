//! The limits of a task: defaults and maxima, and parsing from a file or flag.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use superstep_base::near::meant_or_all;
use superstep_base::settings::{SettingsSection, bounds};

/// The limits on the attempts and splits of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// The maximum number of the agent's turns, including the first. Default: 3, for a child 2; at most 10.
    pub max_attempts: u32,
    /// The depth from which tasks are not split; the root task has depth 0. Default: 3; at most 5.
    pub max_depth: u32,
    /// The number of attempts with the same error that triggers a split. Default: 2; at most 5.
    pub split_on_repeat_errors: u32,
    /// Set if warnings trigger another attempt, for verifiers without a setting of their own. Default: `false`.
    pub warn_triggers_retry: bool,
    /// The maximum number of children in a split. Default: 5; at most 10.
    pub max_children: u32,
    /// The number of children that run in parallel. Default: 1; at most 10.
    pub parallel_children: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            max_depth: 3,
            split_on_repeat_errors: 2,
            warn_triggers_retry: false,
            max_children: 5,
            parallel_children: 1,
        }
    }
}

/// The error for an invalid change to a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
#[non_exhaustive]
pub struct PolicyError {
    /// The key.
    pub key: String,
    /// The problem, and the rule.
    pub problem: String,
}

/// A numeric limit.
pub(super) struct Limit {
    pub(super) key: &'static str,
    range: RangeInclusive<u32>,
    place: fn(&mut Policy) -> &mut u32,
}

/// The numeric limits, in the order in which they are written.
pub(super) const LIMITS: [Limit; 5] = [
    Limit { key: "max_attempts", range: 1..=10, place: |policy| &mut policy.max_attempts },
    Limit { key: "max_depth", range: 0..=5, place: |policy| &mut policy.max_depth },
    Limit { key: "split_on_repeat_errors", range: 1..=5, place: |policy| &mut policy.split_on_repeat_errors },
    Limit { key: "max_children", range: 1..=10, place: |policy| &mut policy.max_children },
    Limit { key: "parallel_children", range: 1..=10, place: |policy| &mut policy.parallel_children },
];

/// The key of the only limit that is a flag.
pub(super) const WARNINGS: &str = "warn_triggers_retry";

impl Limit {
    fn set(&self, policy: &mut Policy, value: &str) -> Result<(), String> {
        let number = value.parse().ok().filter(|number| self.range.contains(number));
        *(self.place)(policy) = number.ok_or_else(|| format!("must be {}, not `{value}`", bounds(&self.range)))?;
        Ok(())
    }
}

impl Policy {
    /// Returns the keys of a policy.
    #[must_use]
    pub fn keys() -> Vec<&'static str> {
        LIMITS.iter().map(|limit| limit.key).chain([WARNINGS]).collect()
    }

    /// Sets a limit by its key, as in `--override-policy max_attempts=2`.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] if the key is unknown or the value is not allowed; the policy is then unchanged.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let set = match LIMITS.iter().find(|limit| limit.key == key) {
            Some(limit) => limit.set(self, value),
            None if key == WARNINGS => flag(value).map(|flag| self.warn_triggers_retry = flag),
            None => Err(format!("a policy has no such key{}", meant_or_all(key, &Self::keys()))),
        };
        set.map_err(|problem| PolicyError { key: key.to_owned(), problem })
    }

    /// Reads a policy from its section of a file.
    pub(super) fn read(mut section: SettingsSection<'_>) -> Self {
        let mut policy = Self::default();
        for limit in &LIMITS {
            if let Some(count) = section.count(limit.key, limit.range.clone()) {
                *(limit.place)(&mut policy) = count;
            }
        }
        policy.warn_triggers_retry = section.flag(WARNINGS).unwrap_or_default();
        section.end();
        policy
    }
}

/// Parses `true` or `false`.
pub(crate) fn flag(word: &str) -> Result<bool, String> {
    word.parse().map_err(|_| format!("must be `true` or `false`, not `{word}`"))
}
