//! What a reviewer says about the work on a task. Plain data, and what it comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A judgement on the work on a task: what a reviewer hands over with `submit_review`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Whether the work does what the task asks for. Minor points do not stand against it.
    pub approved: bool,
    /// How grave the gravest finding is.
    #[serde(default)]
    pub severity: Severity,
    /// The findings.
    #[serde(default)]
    pub comments: Vec<Comment>,
    /// The ids of earlier comments that this work settles.
    #[serde(default)]
    pub resolved_ids: Vec<String>,
    /// The ids of earlier comments that it does not.
    #[serde(default)]
    pub unresolved_ids: Vec<String>,
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// There is nothing to say.
    #[default]
    None,
    /// It would be better otherwise.
    Minor,
    /// It should be otherwise.
    Major,
    /// It cannot stay.
    Critical,
}

/// One finding of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comment {
    /// Tells it from others of the task; given if it is missing.
    #[serde(default)]
    pub id: String,
    /// How grave it is.
    #[serde(default)]
    pub severity: Severity,
    /// The file it is about.
    #[serde(default)]
    pub file: Option<String>,
    /// The line there, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// What is wrong.
    pub issue: String,
    /// Why it matters.
    #[serde(default)]
    pub why: String,
    /// What to do about it.
    #[serde(default)]
    pub fix: String,
}

/// A judgement on all the work of a plan: what a reviewer hands over with `submit_final_review`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalReview {
    /// Whether the work as a whole reaches the plan's goal.
    pub approved: bool,
    /// The judgement in a few sentences.
    pub summary: String,
    /// The findings.
    #[serde(default)]
    pub comments: Vec<Comment>,
}

impl Review {
    /// Returns whether the work passes: it was approved, and nothing in the review contradicts that. An approval with a
    /// critical finding is a rejection.
    pub fn passes(&self) -> bool {
        self.approved && self.gravest() < Severity::Critical
    }

    /// Returns how grave the gravest finding is, whatever the review says of itself.
    pub fn gravest(&self) -> Severity {
        self.comments.iter().map(|comment| comment.severity).fold(self.severity, Severity::max)
    }
}
