//! The plain data that prompts are made from: a task and its place among others, the plan's section about it, feedback on
//! the attempt before, the work under review and its changes. Pure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::contents::Content;
use super::prompt::{Parts, add_fence, format_list};
use crate::plan::Comment;

/// The facts about a task for the agents that work on it or judge it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The task's number.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its position among the tasks, from 1.
    pub position: usize,
    /// The number of tasks.
    pub total: usize,
    /// The goal of the plan.
    pub goal: String,
    /// The plan's section about it.
    pub section: Section,
    /// The criteria by which it is done.
    pub acceptance: Vec<String>,
    /// Commands that must succeed at the end.
    pub verify: Vec<String>,
    /// The other tasks, a line each; empty: not shown.
    pub around: String,
    /// File of the whole plan, if there is one.
    #[serde(default)]
    pub plan_file: Option<PathBuf>,
    /// Place among the phases, for a subtask or for the review of a phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<BriefPhase>,
    /// The place of a code task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_task: Option<BriefTask>,
}

impl Brief {
    /// Returns the number of the phase under review; none: the brief is about a task.
    pub(in crate::nodes) fn judged_phase(&self) -> Option<u32> {
        self.phase.as_ref().filter(|phase| !phase.subtasks.is_empty()).map(|phase| phase.number)
    }

    pub(super) fn breadcrumb(&self) -> String {
        let Self { id, title, position, total, phase, code_task, .. } = self;
        if code_task.is_some() {
            return format!("Task {id}: {title}");
        }
        match phase {
            None => format!("Task {id}, {position} of {total}"),
            Some(phase) if phase.subtasks.is_empty() => format!("Subtask {id}: {title}\n\n{}", phase.line()),
            Some(phase) => phase.line(),
        }
    }
}

/// Place of a subtask among the phases of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefPhase {
    /// The number of the phase, from 1.
    pub number: u32,
    /// The number of phases.
    pub total: u32,
    /// The whole plan; none: not shown.
    pub plan: Option<Content>,
    /// Subtasks, a line each, for the review of the phase.
    pub subtasks: Vec<String>,
}

impl BriefPhase {
    pub(in crate::nodes) fn plan(&self) -> Parts {
        let Some(plan) = &self.plan else { return Parts::default() };
        Parts::from("The whole plan:\n\n").with(Parts::fenced_content("markdown", plan.clone())).with("\n\n")
    }

    fn line(&self) -> String {
        format!("Phase {} of {}", self.number, self.total)
    }
}

/// Place of a code task: its depth and related tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefTask {
    /// The depth, from 0.
    pub depth: u32,
    /// Constraints on the work.
    pub constraints: Vec<String>,
    /// The parent and the next tasks, a line each.
    pub related: Vec<String>,
    /// The findings that the task must fix, a line each; empty: it was not split off another one.
    pub origin: Vec<String>,
}

pub(super) fn goal_line(goal: &str) -> String {
    if goal.is_empty() { String::new() } else { format!("Goal: {goal}\n\n") }
}

/// The plan's text about a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Section {
    /// The text.
    Text(String),
    /// A reference to the text, which is read when a request is sent.
    Content(Content),
}

impl Default for Section {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<String> for Section {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Section {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Content> for Section {
    fn from(content: Content) -> Self {
        Self::Content(content)
    }
}

impl Section {
    pub(super) fn to_fenced(&self) -> Parts {
        match self {
            Self::Text(text) => Parts::fenced_text("markdown", text.as_str()),
            Self::Content(content) => Parts::fenced_content("markdown", content.clone()),
        }
    }
}

/// The reasons why an attempt was not accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The comments of a reviewer.
    pub comments: Vec<Comment>,
    /// Failures: checks with the end of their output, an attempt without changes.
    pub failures: Vec<String>,
    /// The note of a person.
    pub note: String,
    /// The findings of verifiers, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

impl Feedback {
    /// Returns true if there is no feedback.
    pub fn is_empty(&self) -> bool {
        self.comments.is_empty() && self.failures.is_empty() && self.note.is_empty() && self.findings.is_empty()
    }

    pub(in crate::nodes) fn text(&self, heading: &str) -> String {
        let heading = |when: bool| if when && !heading.is_empty() { format!("{heading}\n\n") } else { String::new() };
        let comments = format_list("A reviewer found:", self.comments.iter().map(comment_line));
        let failures: String =
            self.failures.iter().map(|failure| format!("{}\n\n", add_fence("text", failure))).collect();
        let failures = if failures.is_empty() { failures } else { format!("This failed:\n\n{failures}") };
        let note = if self.note.is_empty() { String::new() } else { format!("A person says: {}\n\n", self.note) };
        let findings = match self.findings.join("\n") {
            lines if lines.is_empty() => lines,
            lines => format!("Verifiers found:\n\n{}\n\n", add_fence("text", &lines)),
        };
        let text = [comments, findings, failures, note].concat();
        format!("{}{text}", heading(!text.is_empty()))
    }
}

/// Returns the sentence about the commit that keeps the work of an attempt that was taken back.
pub(super) fn salvage_note(at: Option<&str>) -> String {
    let comment_line = |at| {
        format!("The work of the attempt before was taken back; it is kept in git as `{at}` (`git show {at}`).\n\n")
    };
    at.map(comment_line).unwrap_or_default()
}

/// Formats a comment as a line.
pub(super) fn comment_line(comment: &Comment) -> String {
    let Comment { id, severity, file, line, issue, why, fix, .. } = comment;
    let place = match (file, line) {
        (Some(file), Some(line)) => format!(" {file}:{line}"),
        (Some(file), None) => format!(" {file}"),
        (None, _) => String::new(),
    };
    let more = |label: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {label}: {text}") };
    format!("[{id}] ({severity}){place}: {issue}{}{}", more("Why", why), more("To do", fix))
}

/// The work that a reviewer judges.
#[derive(Clone, Copy, Debug)]
pub struct ReviewedWork<'a> {
    /// The kind of the review: `general`, `security`.
    pub kind: &'a str,
    /// All changes of the task.
    pub diff: &'a PromptDiff,
    /// Changes since the last review; empty: there was none.
    pub delta: &'a str,
    /// The results of the checks, a line each.
    pub checks: &'a [String],
    /// Open comments.
    pub earlier: &'a [Comment],
}

/// Changes: as text, or in a file if they are many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptDiff {
    /// As text.
    Text(String),
    /// In a file.
    File {
        /// Its absolute path.
        path: String,
        /// The changes, a line for each file.
        files: String,
    },
}

impl PromptDiff {
    pub(in crate::nodes) fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Text(_) => None,
            Self::File { path, .. } => Some(path.into()),
        }
    }

    pub(in crate::nodes) fn text(&self) -> Parts {
        match self {
            Self::Text(text) => Parts::fenced_text("diff", text.as_str()),
            Self::File { path, files } => {
                let place = format!("The diff is long. It is in the file {path}\n\nThese files changed:\n\n");
                Parts::from(place).with(Parts::fenced_text("text", files.as_str()))
            }
        }
    }
}
