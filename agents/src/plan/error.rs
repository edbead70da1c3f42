//! Errors of plans: problems that make one invalid, failed lookups, and warnings about probable mistakes.
//! Knows ids and texts, no markdown.

use std::str::FromStr;

use super::id::{TaskId, part};
use super::submission::ProposalProblem;

/// An invalid plan, or a failed lookup in one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan's headings contradict each other.
    #[error("the plan cannot be executed:{}", list_problems(problems))]
    Invalid {
        /// Every problem, in document order.
        problems: Vec<PlanProblem>,
    },
    /// The plan has fewer tasks.
    #[error("the plan has no task at index {index}: it has {total} task(s), counted from 0")]
    NoSuchTask {
        /// The requested index.
        index: usize,
        /// The number of tasks in the plan.
        total: usize,
    },
    /// A proposed plan is invalid.
    #[error("the proposed plan cannot be executed:{}", problems.iter().map(|problem| format!("\n  {problem}")).collect::<String>())]
    Proposal {
        /// Every problem, in the order of the tasks.
        problems: Vec<ProposalProblem>,
    },
    /// A text is not the id of a task.
    #[error("`{text}` is not the number of a task")]
    BadTaskId {
        /// The text.
        text: String,
    },
}

impl PlanError {
    /// Returns what a person can do about it. The problems of an invalid plan carry their own help.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { .. } | Self::Proposal { .. } => None,
            Self::NoSuchTask { .. } => {
                Some("the plan was probably shortened during the run; restore it, or start a new run")
            }
            Self::BadTaskId { .. } => Some("write a number like `3` or `3a`, or `3.1` below task or phase 3"),
        }
    }
}

/// One reason why a plan cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanProblem {
    /// There is no plan.
    #[error("the plan is empty")]
    Empty,
    /// The text is no markdown.
    #[error("the plan is {found}, not markdown")]
    NotMarkdown {
        /// The format of the text.
        found: &'static str,
    },
    /// Two tasks have one id.
    #[error("line {line}: task `{id}` was already opened on line {first_line}")]
    Duplicate {
        /// The id.
        id: TaskId,
        /// The line of the second heading, from 1.
        line: usize,
        /// The line of the first.
        first_line: usize,
    },
    /// A task's parent number has no task or phase before it.
    #[error("line {line}: task `{id}` is below `{parent}`, but there is no task or phase {parent} before it")]
    Orphan {
        /// The id.
        id: TaskId,
        /// The missing task or phase.
        parent: TaskId,
        /// The line of the heading, from 1.
        line: usize,
    },
    /// A task heading is at a higher level than the plan's tasks.
    #[error(
        "line {line}: task `{id}` is a heading of level {level}, but the plan's tasks are at level {expected} since line {first_line}"
    )]
    MixedLevels {
        /// The id.
        id: TaskId,
        /// The line of the heading, from 1.
        line: usize,
        /// Its level.
        level: u8,
        /// The level of the plan's first task.
        expected: u8,
        /// The line of the plan's first task.
        first_line: usize,
    },
    /// A verification command holds a character that is invisible to the person who approves the plan.
    #[error("line {line}: the command contains the hidden character U+{:04X}", u32::from(*character))]
    HiddenCharacter {
        /// The line of the command, from 1.
        line: usize,
        /// The character.
        character: char,
    },
    /// A `Depends on` line holds something other than task ids.
    #[error("line {line}: `Depends on` of task `{id}` {}", no_ids(text))]
    BadDependency {
        /// The id of the task.
        id: TaskId,
        /// The text; empty if the line has none.
        text: String,
        /// The line, from 1.
        line: usize,
    },
    /// A task depends on a task that the plan does not have.
    #[error("line {line}: task `{id}` depends on `{needs}`, but the plan has no task `{needs}`{}", near_ids(near))]
    UnknownDependency {
        /// The id of the task.
        id: TaskId,
        /// The id of the missing task.
        needs: TaskId,
        /// Similar ids of the plan.
        near: Vec<TaskId>,
        /// The line of the dependency, from 1.
        line: usize,
    },
    /// A task depends on itself.
    #[error("line {line}: task `{id}` depends on itself")]
    SelfDependency {
        /// The id.
        id: TaskId,
        /// The line of the dependency, from 1.
        line: usize,
    },
    /// Tasks depend on each other in a cycle.
    #[error("line {line}: the dependencies form a cycle: {}", path_of(path))]
    Cycle {
        /// The tasks in order: each depends on the next; the last is the first again.
        path: Vec<TaskId>,
        /// The line on which the first of them depends on the second, from 1.
        line: usize,
    },
    /// A phase has no tasks, and the phases decide the order of execution.
    #[error("line {line}: phase `{id}` has no tasks")]
    EmptyPhase {
        /// The number of the phase.
        id: TaskId,
        /// The line of its heading, from 1.
        line: usize,
    },
}

fn no_ids(text: &str) -> String {
    if text.is_empty() { "names no task".to_owned() } else { format!("has `{text}`, which is not a list of task ids") }
}

fn near_ids(near: &[TaskId]) -> String {
    let ids: Vec<String> = near.iter().map(|id| format!("`{id}`")).collect();
    if ids.is_empty() { String::new() } else { format!("; similar ids: {}", ids.join(", ")) }
}

fn path_of(path: &[TaskId]) -> String {
    path.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" -> ")
}

impl PlanProblem {
    /// Returns the line that the problem is about, from 1; 0 for the whole plan.
    pub fn line(&self) -> usize {
        match self {
            Self::Empty | Self::NotMarkdown { .. } => 0,
            Self::Duplicate { line, .. }
            | Self::Orphan { line, .. }
            | Self::MixedLevels { line, .. }
            | Self::HiddenCharacter { line, .. }
            | Self::BadDependency { line, .. }
            | Self::UnknownDependency { line, .. }
            | Self::SelfDependency { line, .. }
            | Self::Cycle { line, .. }
            | Self::EmptyPhase { line, .. } => *line,
        }
    }

    /// Returns what the author of the plan can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Empty => "describe at least the work; headings `### Task 1: title` divide it into tasks",
            Self::NotMarkdown { .. } => {
                "write the plan as markdown with a heading `### Task 1: title` for each task, or let the tool that created it export markdown"
            }
            Self::Duplicate { .. } => "give each task a different number; below phases, write `1.1`, `1.2`, `2.1`",
            Self::Orphan { .. } => {
                "put the heading of that task or phase before it, or number this task without the point"
            }
            Self::MixedLevels { .. } => "write all task headings of the plan at one level",
            Self::HiddenCharacter { .. } => {
                "type the command again: control characters and invisible characters are not allowed"
            }
            Self::BadDependency { .. } => "write the ids of tasks, `**Depends on:** 1, 2a`, or `none`",
            Self::UnknownDependency { .. } => "name a task of this plan by the id in its heading, or write `none`",
            Self::SelfDependency { .. } => "remove the task's own id from the line, or write `none`",
            Self::Cycle { .. } => "remove one of these dependencies, or merge the tasks",
            Self::EmptyPhase { .. } => "put a task below the heading, or remove it",
        }
    }
}

/// The maximum number of problems in the message.
const LISTED: usize = 20;

fn list_problems(problems: &[PlanProblem]) -> String {
    let mut text: String =
        problems.iter().take(LISTED).map(|problem| format!("\n  {problem}\n    help: {}", problem.help())).collect();
    if problems.len() > LISTED {
        text.push_str(&format!("\n  and {} more", problems.len() - LISTED));
    }
    text
}

impl FromStr for TaskId {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let parts: Option<Vec<String>> = text.split('.').map(part).collect();
        parts.map(|parts| Self(parts.join("."))).ok_or_else(|| PlanError::BadTaskId { text: text.to_owned() })
    }
}

impl TryFrom<String> for TaskId {
    type Error = PlanError;

    fn try_from(text: String) -> Result<Self, PlanError> {
        text.parse()
    }
}

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
    #[error("line {line}: task `{id}` at heading level {level} is not a task of its own; {}", task_level(*expected))]
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
    #[error("line {line}: task `{id}` {}; tasks are executed in the order of the document", position(previous.as_ref()))]
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
    #[error("line {line}: this command is in no task's section, so no task is verified by it")]
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

fn task_level(expected: Option<u8>) -> String {
    expected.map_or_else(
        || "tasks are at level 2, 3 or 4".to_owned(),
        |level| format!("the plan's tasks are at level {level}"),
    )
}

fn position(previous: Option<&TaskId>) -> String {
    previous.map_or_else(|| "is the first".to_owned(), |id| format!("follows task `{id}`"))
}
