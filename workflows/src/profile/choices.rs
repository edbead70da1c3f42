//! The settings of a profile that are a choice between words.

use serde::{Deserialize, Serialize};

/// A setting that is a choice between words.
pub(super) trait Choice: Copy + 'static {
    /// The words and their meanings, in the order of error messages.
    const WORDS: &'static [(&'static str, Self)];
}

/// The part of the plan in a developer's prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanContext {
    /// The head of the plan and the section of the task.
    #[default]
    Section,
    /// The same, and a line for each other task.
    Outline,
    /// The whole plan.
    Full,
}

/// The action when a task has used up its attempts without approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The run stops for a person's decision.
    #[default]
    Halt,
    /// The task is skipped and the next one starts.
    Skip,
    /// The run fails.
    Fail,
}

/// The effect of a failed subtask on the others of its phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSubtaskFailure {
    /// They are cancelled, and the run stops.
    #[default]
    Halt,
    /// They end first; then the run stops.
    FinishSiblings,
}

/// The session in which a developer retries after a rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrySession {
    /// The same session.
    #[default]
    Resume,
    /// A new one, with the files of the last attempt.
    Fresh,
    /// A new one, with the files from before the task.
    FreshReset,
}

/// The source of issues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tracker {
    /// Markdown files.
    #[default]
    File,
    /// None: runs need a plan, and an issue is rejected.
    None,
}

/// A kind of agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Writes the plan.
    Architect,
    /// Does the tasks.
    Developer,
    /// Reviews the work.
    Reviewer,
    /// Verifies a task, as the model of a verifier. Without settings of its own it uses the reviewer's.
    Verifier,
    /// Splits a task that keeps failing. Without settings of its own it uses the architect's.
    Splitter,
}

impl Role {
    /// The roles that execute plans, in order.
    pub const ALL: [Self; 3] = [Self::Architect, Self::Developer, Self::Reviewer];
    /// The roles that execute and verify tasks, in order.
    pub const OF_TASKS: [Self; 3] = [Self::Developer, Self::Verifier, Self::Splitter];
    pub(super) const EVERY: [Self; 5] =
        [Self::Architect, Self::Developer, Self::Reviewer, Self::Verifier, Self::Splitter];

    /// Returns the role whose settings this one uses if it has none.
    pub(super) fn fallback(self) -> Option<Self> {
        match self {
            Self::Verifier => Some(Self::Reviewer),
            Self::Splitter => Some(Self::Architect),
            Self::Architect | Self::Developer | Self::Reviewer => None,
        }
    }

    /// Returns the name of the role, as in requests and profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Architect => "architect",
            Self::Developer => "developer",
            Self::Reviewer => "reviewer",
            Self::Verifier => "verifier",
            Self::Splitter => "splitter",
        }
    }
}

impl Choice for PlanContext {
    const WORDS: &'static [(&'static str, Self)] =
        &[("section", Self::Section), ("outline", Self::Outline), ("full", Self::Full)];
}

impl Choice for OnExhausted {
    const WORDS: &'static [(&'static str, Self)] = &[("halt", Self::Halt), ("skip", Self::Skip), ("fail", Self::Fail)];
}

impl Choice for OnSubtaskFailure {
    const WORDS: &'static [(&'static str, Self)] = &[("halt", Self::Halt), ("finish_siblings", Self::FinishSiblings)];
}

impl Choice for RetrySession {
    const WORDS: &'static [(&'static str, Self)] =
        &[("resume", Self::Resume), ("fresh", Self::Fresh), ("fresh_reset", Self::FreshReset)];
}

impl Choice for Tracker {
    const WORDS: &'static [(&'static str, Self)] = &[("file", Self::File), ("none", Self::None)];
}
