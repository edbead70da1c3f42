//! An attempt at a task, the same for tasks of a plan, subtasks of a phase and tasks of their own: an agent works, checks run, a
//! reviewer judges. Knows no state of a workflow and no graph; pure.
//!
//! | file | what it knows |
//! |---|---|
//! | `outcome` | the outcome of an attempt after each of its steps, and what it says to people |
//! | `job` | the jobs of its steps |
//!
//! Small because it only lists the folder.

mod job;
mod outcome;

pub(crate) use job::{AttemptJob, CheckedAttempt, brief, check_lines, chosen_models, commands, worktree};
pub use outcome::AttemptOutcome;
pub(crate) use outcome::{SubtaskWords, open_comments, work_notices};
