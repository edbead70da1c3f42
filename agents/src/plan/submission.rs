//! The data that agents hand over: a plan and its problems, a report on the work on a task, the reviews of it and their
//! verdicts. Plain data.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan as data: what an architect hands over with `submit_plan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanProposal {
    /// What is to be reached, in a sentence.
    pub goal: String,
    /// How, in a paragraph.
    #[serde(default)]
    pub approach: String,
    /// How one can tell that it was reached.
    #[serde(default)]
    pub success_criteria: Vec<String>,
    /// The tasks, in the order of execution.
    pub tasks: Vec<ProposedTask>,
}

/// A task of a [`PlanProposal`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProposedTask {
    /// Its number: `1`, `2a`, or `1.2` below task 1.
    pub id: String,
    /// What it is, in a few words.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// The files it makes.
    #[serde(default)]
    pub files_create: Vec<String>,
    /// The files it changes.
    #[serde(default)]
    pub files_modify: Vec<String>,
    /// Other paths and globs that it may touch.
    #[serde(default)]
    pub files: Vec<String>,
    /// The ids of the tasks that must be done before it; an empty list: none. Tasks that do not depend on each other may be
    /// worked on at the same time.
    #[serde(default)]
    pub depends_on: Option<Vec<String>>,
    /// How one can tell that it is done.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// Shell commands that must succeed when it is done.
    #[serde(default)]
    pub verify_commands: Vec<String>,
    /// How large it is, in the architect's words.
    #[serde(default)]
    pub est_size: Option<String>,
}

/// One reason why a proposed plan cannot be executed. Displays as an instruction for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalProblem {
    /// There is no goal.
    #[error("the goal is empty")]
    NoGoal,
    /// There are no tasks.
    #[error("there are no tasks")]
    NoTasks,
    /// An id is not a number.
    #[error("the id of the {place}. task, `{id}`, is not a number like `3` or `3a`, or `3.1` below task 3")]
    BadId {
        /// The position of the task, from 1.
        place: usize,
        /// The invalid id.
        id: String,
    },
    /// Two tasks have the same id.
    #[error("two tasks have the id `{id}`")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The parent of a task does not come before it.
    #[error("task `{id}` is below `{parent}`, but there is no task `{parent}` before it")]
    Orphan {
        /// The id of the task.
        id: String,
        /// The missing task.
        parent: String,
    },
    /// A task has no title.
    #[error("task `{id}` has no title")]
    NoTitle {
        /// The id of the task.
        id: String,
    },
    /// A task depends on one that does not come before it.
    #[error("task `{id}` depends on `{needs}`, but there is no task `{needs}` before it")]
    UnknownDependency {
        /// The id of the task.
        id: String,
        /// The id of the dependency.
        needs: String,
    },
    /// A command cannot be run.
    #[error("the command `{}` of task `{id}` {why}", command.escape_debug())]
    BadCommand {
        /// The id of the task.
        id: String,
        /// The command.
        command: String,
        /// The problem with it.
        why: &'static str,
    },
    /// A text holds a control character.
    #[error("{place} holds the control character U+{:04X}", u32::from(*character))]
    ControlCharacter {
        /// The text that holds it, such as `the title of task 1`.
        place: String,
        /// The character.
        character: char,
    },
    /// No generated markdown reads back as the proposal.
    #[error("the texts cannot be written as markdown; write them in plainer words")]
    NotMarkdown,
}

/// A developer's report on a task: what they hand over with `submit_work`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct WorkReport {
    /// How the work stands.
    pub status: WorkStatus,
    /// What was done, in a few sentences.
    #[serde(default)]
    pub summary: String,
    /// The files that were changed.
    #[serde(default)]
    pub files: Vec<String>,
    /// What has to be answered before the work can go on; needed unless it is done.
    #[serde(default)]
    pub question: Option<String>,
}

/// How work on a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// It is ready for review.
    Done,
    /// Something stands in the way that only a person can move.
    Blocked,
    /// Something has to be known that only a person can tell.
    NeedsInfo,
}

/// A judgement on the work on a task: what a reviewer hands over with `submit_review`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Review {
    /// Whether the work does what the task asks for. Minor points do not stand against it.
    pub approved: bool,
    /// How grave the gravest finding is.
    #[serde(default)]
    pub severity: CommentSeverity,
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
#[schemars(rename = "Severity")]
pub enum CommentSeverity {
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

impl std::fmt::Display for CommentSeverity {
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
    pub severity: CommentSeverity,
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
#[non_exhaustive]
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
        self.approved && self.highest_severity() < CommentSeverity::Critical
    }

    /// Gives each comment an id that is unique within the task: `c1`, `c2` and so on for comments without one, and for
    /// those whose id is used by another comment, of this review or of `taken`, the ids given before. A comment may
    /// reuse a taken id if the review lists that id as unresolved: then it is the same finding.
    ///
    /// ```
    /// # use superstep_agents as superstep;
    /// # use superstep::plan::Review;
    /// let review: Review = serde_json::from_str(r#"{"approved": false, "comments": [{"issue": "a"}, {"issue": "b"}]}"#)?;
    /// let ids: Vec<String> = review.with_comment_ids(["c1"]).comments.into_iter().map(|comment| comment.id).collect();
    /// assert_eq!(ids, ["c2", "c3"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn with_comment_ids<'t>(mut self, taken: impl IntoIterator<Item = &'t str>) -> Self {
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
    pub fn highest_severity(&self) -> CommentSeverity {
        self.comments.iter().map(|comment| comment.severity).fold(self.severity, CommentSeverity::max)
    }
}
