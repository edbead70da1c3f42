//! The settings of a profile that are one of a few words.

use serde::{Deserialize, Serialize};

/// A setting that is one of a few words.
pub(super) trait Choice: Copy + 'static {
    /// The words and what they mean, in the order in which they are told.
    const WORDS: &'static [(&'static str, Self)];
}

/// How much of the plan a developer's prompt holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanContext {
    /// The head of the plan and the section of the task.
    #[default]
    Section,
    /// That, and a line for each other task.
    Outline,
    /// The whole plan.
    Full,
}

/// What happens when a task has used up its attempts and is not approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The run stops and asks a person.
    #[default]
    Halt,
    /// The work is put aside and the next task begins.
    Skip,
    /// The run fails.
    Fail,
}

/// What becomes of the other subtasks of a phase when one fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSubtaskFailure {
    /// They are cancelled, and the run stops.
    #[default]
    Halt,
    /// They end first; then the run stops.
    FinishSiblings,
}

/// In which session a developer tries again after a rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrySession {
    /// In the one that did the work.
    #[default]
    Resume,
    /// In a new one, on the files as they are.
    Fresh,
    /// In a new one, on the files as they were before the task.
    FreshReset,
}

/// Where issues come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tracker {
    /// From markdown files.
    #[default]
    File,
    /// From nowhere: runs are given their plan, and an issue is refused.
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
    /// Judges the work.
    Reviewer,
    /// Verifies a task: the model of a verifier. Unless it has settings of its own, those of the reviewer hold.
    Verifier,
    /// Splits a task that keeps failing. Unless it has settings of its own, those of the architect hold.
    Splitter,
}

impl Role {
    /// The roles that execute plans, in the order in which they work.
    pub const ALL: [Self; 3] = [Self::Architect, Self::Developer, Self::Reviewer];
    /// The roles that execute tasks by verification, in the order in which they work.
    pub const OF_TASKS: [Self; 3] = [Self::Developer, Self::Verifier, Self::Splitter];
    /// Every role.
    pub(super) const EVERY: [Self; 5] =
        [Self::Architect, Self::Developer, Self::Reviewer, Self::Verifier, Self::Splitter];

    /// Returns the role whose settings hold where this one has none.
    pub(super) fn fallback(self) -> Option<Self> {
        match self {
            Self::Verifier => Some(Self::Reviewer),
            Self::Splitter => Some(Self::Architect),
            Self::Architect | Self::Developer | Self::Reviewer => None,
        }
    }

    /// Returns the name of the role, as requests and profiles write it.
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
