//! A reviewer's findings on the work on a task. Plain data, and its verdict.

use std::collections::HashSet;

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

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        })
    }
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
    #[serde(default)]
    pub summary: String,
    /// The findings.
    #[serde(default)]
    pub comments: Vec<Comment>,
}

impl Review {
    /// Returns whether the work passes: approved, and without a critical finding, which turns an approval into a
    /// rejection.
    pub fn passes(&self) -> bool {
        self.approved && self.gravest() < Severity::Critical
    }

    /// Gives each comment an id that is unique within the task: `c1`, `c2` and so on for comments without one, and for
    /// those whose id is used by another comment, of this review or of `taken`, the ids given before. A comment may
    /// reuse a taken id if the review lists that id as unresolved: then it is the same finding.
    ///
    /// ```
    /// # use superstep_agents as superstep;
    /// # use superstep::plan::Review;
    /// let review: Review = serde_json::from_str(r#"{"approved": false, "comments": [{"issue": "a"}, {"issue": "b"}]}"#)?;
    /// let ids: Vec<String> = review.numbered(["c1"]).comments.into_iter().map(|comment| comment.id).collect();
    /// assert_eq!(ids, ["c2", "c3"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn numbered<'t>(mut self, taken: impl IntoIterator<Item = &'t str>) -> Self {
        let taken: HashSet<String> = taken.into_iter().map(str::to_owned).collect();
        let unresolved: HashSet<&str> = self.unresolved_ids.iter().map(|id| id.trim()).collect();
        let mut used = HashSet::new();
        for comment in &mut self.comments {
            let id = comment.id.trim();
            let is_free = !taken.contains(id) || unresolved.contains(id);
            let keeps = !id.is_empty() && is_free && used.insert(id.to_owned());
            comment.id = if keeps { id.to_owned() } else { String::new() };
        }
        used.extend(taken);
        let mut numbers = 1_usize..;
        for comment in self.comments.iter_mut().filter(|comment| comment.id.is_empty()) {
            let free = numbers.by_ref().map(|number| format!("c{number}")).find(|id| !used.contains(id));
            comment.id = free.unwrap_or_default();
        }
        self
    }

    /// Returns the highest severity of the review and its comments.
    pub fn gravest(&self) -> Severity {
        self.comments.iter().map(|comment| comment.severity).fold(self.severity, Severity::max)
    }
}
