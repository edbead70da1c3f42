//! The problems of a proposed plan.

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
    #[error("task `{id}` stands below `{parent}`, but there is no task `{parent}` before it")]
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
