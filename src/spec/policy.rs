//! The limits of a task: their defaults, their maxima, how they are read from a file and from a flag.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::section::{Section, bounds};
use super::words::meant_or_all;

/// The limits within which a task is retried and split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// How many turns the agent gets, the first included. Default: 3, for a child 2; at most 10.
    pub max_attempts: u32,
    /// The depth at which a task is not split any more; the first task has depth 0. Default: 3; at most 5.
    pub max_depth: u32,
    /// In how many attempts an error must be seen for the task to be split. Default: 2; at most 5.
    pub split_on_repeat_errors: u32,
    /// `true` if warnings are worth another attempt, for every verifier that does not say otherwise. Default: `false`.
    pub warn_triggers_retry: bool,
    /// The most children of one split. Default: 5; at most 10.
    pub max_children: u32,
    /// How many children work at the same time. Default: 1; at most 10.
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

/// A change of a policy that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct PolicyError {
    /// The key.
    pub key: String,
    /// What is wrong, and what is right.
    pub problem: String,
}

/// A limit that is a number.
pub(super) struct Limit {
    pub(super) key: &'static str,
    range: RangeInclusive<u32>,
    place: fn(&mut Policy) -> &mut u32,
}

/// The limits that are numbers, in the order in which they are written.
pub(super) const LIMITS: [Limit; 5] = [
    Limit { key: "max_attempts", range: 1..=10, place: |policy| &mut policy.max_attempts },
    Limit { key: "max_depth", range: 0..=5, place: |policy| &mut policy.max_depth },
    Limit { key: "split_on_repeat_errors", range: 1..=5, place: |policy| &mut policy.split_on_repeat_errors },
    Limit { key: "max_children", range: 1..=10, place: |policy| &mut policy.max_children },
    Limit { key: "parallel_children", range: 1..=10, place: |policy| &mut policy.parallel_children },
];

/// The limit that is a flag.
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

    /// Sets a limit by its key, as `--override-policy max_attempts=2` does.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] if the key is unknown, or the value is not allowed; nothing is changed then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        let set = match LIMITS.iter().find(|limit| limit.key == key) {
            Some(limit) => limit.set(self, value),
            None if key == WARNINGS => flag(value).map(|flag| self.warn_triggers_retry = flag),
            None => Err(format!("a policy has no such key{}", meant_or_all(key, &Self::keys()))),
        };
        set.map_err(|problem| PolicyError { key: key.to_owned(), problem })
    }

    /// Reads a policy from its section of a file.
    pub(super) fn read(mut section: Section<'_>) -> Self {
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

/// Returns the flag that a word is.
pub(crate) fn flag(word: &str) -> Result<bool, String> {
    word.parse().map_err(|_| format!("must be `true` or `false`, not `{word}`"))
}
