//! Feedback on an attempt that was not accepted. Pure.

use serde::{Deserialize, Serialize};

use super::fence::fenced;
use super::template::listed;
use crate::plan::Comment;

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

    pub(super) fn text(&self, heading: &str) -> String {
        let heading = |when: bool| if when && !heading.is_empty() { format!("{heading}\n\n") } else { String::new() };
        let comments = listed("A reviewer found:", self.comments.iter().map(comment_line));
        let failures: String = self.failures.iter().map(|failure| format!("{}\n\n", fenced("text", failure))).collect();
        let failures = if failures.is_empty() { failures } else { format!("This failed:\n\n{failures}") };
        let note = if self.note.is_empty() { String::new() } else { format!("A person says: {}\n\n", self.note) };
        let findings = match self.findings.join("\n") {
            lines if lines.is_empty() => lines,
            lines => format!("Verifiers found:\n\n{}\n\n", fenced("text", &lines)),
        };
        let text = [comments, findings, failures, note].concat();
        format!("{}{text}", heading(!text.is_empty()))
    }
}

/// Returns the sentence about the commit that keeps the work of an attempt that was taken back.
pub(super) fn salvaged(at: Option<&str>) -> String {
    let comment_line = |at| {
        format!("The work of the attempt before was taken back; it is kept in git as `{at}` (`git show {at}`).\n\n")
    };
    at.map(comment_line).unwrap_or_default()
}

/// Formats a comment as a line.
pub(super) fn comment_line(comment: &Comment) -> String {
    let Comment { id, severity, file, line, issue, why, fix } = comment;
    let place = match (file, line) {
        (Some(file), Some(line)) => format!(" {file}:{line}"),
        (Some(file), None) => format!(" {file}"),
        (None, _) => String::new(),
    };
    let more = |label: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {label}: {text}") };
    format!("[{id}] ({severity}){place}: {issue}{}{}", more("Why", why), more("To do", fix))
}
