//! Questions about a task that is decided by rules, and their answers. Plain data.

use serde::{Deserialize, Serialize};

use crate::graph::Interrupt;

/// Asks how to continue with a task that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt)]
#[interrupt(resume = AfterGivingUp, name = "gave_up")]
pub struct GaveUp {
    /// The task's id.
    pub task: String,
    /// Its title.
    pub title: String,
    /// The decision: `GIVE_UP` or `FAIL`.
    pub decision: String,
    /// The rule that made it.
    pub rule: String,
    /// The reason as text.
    pub reason: String,
    /// The number of the last attempt.
    pub attempt: u32,
    /// The errors and warnings of the last attempt, a line each.
    pub findings: Vec<String>,
    /// The reference that keeps the files of the last attempt.
    pub salvage: Option<String>,
    /// True if `split` can be answered.
    pub may_split: bool,
    /// The cost in millionths of a dollar.
    pub cost: u64,
    /// The reason why the answer before could not be followed.
    #[serde(default)]
    pub problem: Option<String>,
}

/// Asks a person to decide on an attempt, which a verifier leaves to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Interrupt)]
#[interrupt(resume = AfterGivingUp, name = "decide")]
pub struct DecideTask {
    /// The same as for a task that failed for good.
    #[serde(flatten)]
    pub about: GaveUp,
}

/// The next action for a task. As JSON: `{"retry": {"attempts": 1, "note": ".."}}`, `"split"`, `{"override":
/// {"decision": "DONE", "why": ".."}}` or `"abort"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AfterGivingUp {
    /// Retry.
    Retry {
        /// The number of further turns of the agent; 1.
        #[serde(default = "one")]
        attempts: u32,
        /// A note to the agent.
        #[serde(default)]
        note: String,
    },
    /// Split it into children.
    Split,
    /// Decide in place of the rules.
    Override(WrittenOverride),
    /// End the run.
    Abort,
}

/// A decision of a person in place of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenOverride {
    /// `DONE`, `RETRY`, `SPLIT` or `FAIL`.
    pub decision: String,
    /// The reason.
    pub why: String,
    /// The name of the person.
    #[serde(default)]
    pub by: Option<String>,
}

/// The decisions that a person can make in place of the rules.
const DECISIONS: [&str; 4] = ["DONE", "RETRY", "SPLIT", "FAIL"];

impl GaveUp {
    /// Returns why an answer is invalid; none if it is valid.
    #[must_use]
    pub fn problem_of(&self, answer: &AfterGivingUp) -> Option<String> {
        match answer {
            AfterGivingUp::Retry { attempts: 0, .. } => Some("it can be tried once or more often, not 0 times".into()),
            AfterGivingUp::Split => self.unsplittable(),
            AfterGivingUp::Override(given) => self.problem_of_override(given),
            AfterGivingUp::Retry { .. } | AfterGivingUp::Abort => None,
        }
    }

    pub(super) fn problem_of_override(&self, given: &WrittenOverride) -> Option<String> {
        match given.decision.as_str() {
            _ if given.why.trim().is_empty() => Some("an override needs a reason: say `why`".into()),
            "SPLIT" => self.unsplittable(),
            decision if !DECISIONS.contains(&decision) => {
                Some(format!("`{decision}` is no decision; write one of {}", DECISIONS.join(", ")))
            }
            _ => None,
        }
    }

    fn unsplittable(&self) -> Option<String> {
        let message =
            || format!("task {} cannot be split: it is at its largest depth, or was split already", self.task);
        (!self.may_split).then(message)
    }
}

fn one() -> u32 {
    1
}
