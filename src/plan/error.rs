//! What can be wrong with a plan, and with a question about one.

use super::id::TaskId;
use super::proposal_problem::ProposalProblem;

/// A plan that cannot be executed, or a question that it cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan's headings contradict each other.
    #[error("the plan cannot be executed:{}", listed(problems))]
    Invalid {
        /// Every problem, in document order.
        problems: Vec<PlanProblem>,
    },
    /// The plan has fewer tasks.
    #[error("the plan has no task at index {index}: it has {total} task(s), counted from 0")]
    NoSuchTask {
        /// The index asked for.
        index: usize,
        /// How many tasks the plan has.
        total: usize,
    },
    /// A proposed plan is not in order.
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
            Self::BadTaskId { .. } => Some("write a number like `3`, or `3.1` below task or phase 3"),
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
    /// A task stands below a number that no task or phase before it has.
    #[error("line {line}: task `{id}` stands below `{parent}`, but there is no task or phase {parent} before it")]
    Orphan {
        /// The id.
        id: TaskId,
        /// The missing task or phase.
        parent: TaskId,
        /// The line of the heading, from 1.
        line: usize,
    },
    /// A task heading stands above the level of the plan's tasks.
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
    /// A command by which a task is verified holds a character that whoever approves the plan would not see.
    #[error("line {line}: the command holds the hidden character U+{:04X}", u32::from(*character))]
    HiddenCharacter {
        /// The line of the command, from 1.
        line: usize,
        /// The character.
        character: char,
    },
}

impl PlanProblem {
    /// Returns what the author of the plan can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Empty => "write at least what is to be done; headings `### Task 1: title` cut it into tasks",
            Self::Duplicate { .. } => "give each task a number of its own; below phases, write `1.1`, `1.2`, `2.1`",
            Self::Orphan { .. } => {
                "put the heading of that task or phase before it, or number this task without the point"
            }
            Self::MixedLevels { .. } => "write all task headings of the plan at one level",
            Self::HiddenCharacter { .. } => {
                "type the command again: control characters and invisible ones stand in no command"
            }
        }
    }
}

/// How many problems are spelt out.
const LISTED: usize = 20;

/// Each problem on its own line, with its help below.
fn listed(problems: &[PlanProblem]) -> String {
    let mut text: String =
        problems.iter().take(LISTED).map(|problem| format!("\n  {problem}\n    help: {}", problem.help())).collect();
    if problems.len() > LISTED {
        text.push_str(&format!("\n  and {} more", problems.len() - LISTED));
    }
    text
}
