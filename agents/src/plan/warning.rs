//! The warnings about a plan: probable mistakes that do not make it invalid.

use super::id::TaskId;

/// A probable mistake in a plan. Displays as the line and the consequence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanWarning {
    /// A heading looks like a task but is not written as one.
    #[error("line {line}: `{text}` is not read as a task; a task heading is `Task N: title`")]
    NotATask {
        /// The line of the heading, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A task heading at another level than the plan's tasks is read as text.
    #[error("line {line}: task `{id}` at heading level {level} is not a task of its own; {}", why(*expected))]
    OtherLevel {
        /// The line of the heading, from 1.
        line: usize,
        /// Its id.
        id: TaskId,
        /// Its level.
        level: u8,
        /// The level of the plan's tasks, if it has any.
        expected: Option<u8>,
    },
    /// The numbers do not rise by one. Tasks are executed in document order anyway.
    #[error("line {line}: task `{id}` {}; tasks are executed in the order of the document", after(previous.as_ref()))]
    NumberJump {
        /// The line of the heading, from 1.
        line: usize,
        /// Its id.
        id: TaskId,
        /// The previous task with the same parent; `None` for the first.
        previous: Option<TaskId>,
    },
    /// A task has no title.
    #[error("line {line}: task `{id}` has no title")]
    NoTitle {
        /// The line of the heading, from 1.
        line: usize,
        /// Its id.
        id: TaskId,
    },
    /// A code fence is never closed, so all headings after it are code.
    #[error("line {line}: this code fence is never closed; headings after it are not read")]
    OpenFence {
        /// The line of the fence, from 1.
        line: usize,
    },
    /// The document starts like front matter that is not closed before the first task, so it is read as text.
    #[error("line {line}: this front matter is never closed, or not before the first task; it is read as text")]
    OpenFrontMatter {
        /// The line of its fence, from 1.
        line: usize,
    },
    /// A label or list item announces verification but names no command.
    #[error("line {line}: `{text}` names no command; below `Verify`, write each command as code")]
    NoCommand {
        /// The line of the label or item, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// Code near a `Verify` label is not read as a command.
    #[error(
        "line {line}: `{text}` is not read as a command; below `Verify`, commands are list items, or lines of a shell block directly after the label"
    )]
    NotACommand {
        /// The line of the code, from 1.
        line: usize,
        /// The code, or its first line.
        text: String,
    },
    /// Headings, list items or lines differ only in a rising number, and none of them is read as a task.
    #[error(
        "line {line}: {count} {what}, from `{first}` to `{last}`, are not read as tasks{}; a task is a heading `### Task 1: title`",
        if *is_whole { ", so the whole plan is one task" } else { "" }
    )]
    NotTasks {
        /// The line of the first, from 1.
        line: usize,
        /// Their number.
        count: usize,
        /// Their kind: `headings`, `list items`, `lines`.
        what: &'static str,
        /// The text of the first.
        first: String,
        /// The text of the last.
        last: String,
        /// True if the plan has no task headings.
        is_whole: bool,
    },
    /// A part of a `Depends on` line is not read as a dependency.
    #[error("line {line}: `{text}` in `Depends on` is read as a remark, not as a dependency")]
    Remark {
        /// The line, from 1.
        line: usize,
        /// The remark.
        text: String,
    },
    /// A command is outside of every task's section.
    #[error("line {line}: this command stands in no task's section, so no task is verified by it")]
    OutsideTask {
        /// The line of the first such command, from 1.
        line: usize,
    },
    /// Two tasks of one phase may touch the same files, so the later one gets a phase of its own.
    #[error(
        "line {line}: task `{id}` may touch the same files as task `{other}` (`{file}` and `{other_file}`); it runs after it, in a phase of its own"
    )]
    Overlap {
        /// The line of the later task's heading, from 1.
        line: usize,
        /// The later task.
        id: TaskId,
        /// Its path or glob.
        file: String,
        /// The earlier task of the same phase.
        other: TaskId,
        /// The earlier task's path or glob.
        other_file: String,
    },
    /// A task depends on one that comes later in the document.
    #[error(
        "line {line}: task `{id}` depends on `{needs}`, which comes after it; the phases decide the order of execution"
    )]
    OrderContradicted {
        /// The line of the task's heading, from 1.
        line: usize,
        /// The task.
        id: TaskId,
        /// The task it depends on.
        needs: TaskId,
    },
}

impl PlanWarning {
    /// Returns the line of the warning, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::NotATask { line, .. }
            | Self::OtherLevel { line, .. }
            | Self::NumberJump { line, .. }
            | Self::NoTitle { line, .. }
            | Self::OpenFence { line }
            | Self::OpenFrontMatter { line }
            | Self::NoCommand { line, .. }
            | Self::NotACommand { line, .. }
            | Self::OutsideTask { line }
            | Self::NotTasks { line, .. }
            | Self::Remark { line, .. }
            | Self::Overlap { line, .. }
            | Self::OrderContradicted { line, .. } => *line,
        }
    }
}

fn why(expected: Option<u8>) -> String {
    expected.map_or_else(
        || "tasks stand at level 2, 3 or 4".to_owned(),
        |level| format!("the plan's tasks are at level {level}"),
    )
}

fn after(previous: Option<&TaskId>) -> String {
    previous.map_or_else(|| "is the first".to_owned(), |id| format!("follows task `{id}`"))
}
