//! Plans of coding agents: markdown in, tasks and their sections out; and what is said of a plan while it is executed: a
//! person's [`Decision`], the [`TaskProgress`].
//!
//! A plan is ordinary markdown in which a heading `Task N: title` opens a task. This room reads CommonMark, so headings
//! inside code fences, quotes, lists and comments are text. It knows no engine, no agent and no file: whoever holds the
//! markdown asks it what the tasks are.
//!
//! # What is a task
//!
//! - A heading `Task N: title` of level 2 or 3, or of level 4 in a plan that has none at 2 and 3. `N` is a [`TaskId`]:
//!   `3`, or `3.1` below task or phase 3.
//! - All tasks of a plan stand at one level, that of the first. A task heading further down is part of the section it
//!   stands in (with a [`PlanWarning`]); one further up is a [`PlanProblem`].
//! - The order in the document is the order of execution. Two tasks with one id, and a `3.1` without a task or phase 3,
//!   are problems; a gap in the numbers is a warning.
//! - A task's section runs from its heading to the next heading of the same or a higher level.
//! - `Phase N` headings group tasks: the text that opens a phase belongs to the excerpt of each of its tasks.
//! - A plan without task headings is one task: the whole plan.

mod check;
mod decision;
mod error;
mod extract;
mod head;
mod id;
mod label;
mod outline;
mod parse;
mod progress;
mod proposal;
mod review;
mod task;
mod warning;
mod work;

pub use decision::{Decision, Verdict};
pub use error::{PlanError, PlanProblem};
pub use extract::{extract_task_count, extract_task_section};
pub use id::TaskId;
pub use progress::TaskProgress;
pub use proposal::{PlanProposal, ProposedTask};
pub use review::{Comment, FinalReview, Review, Severity};
pub use task::{Plan, Task};
pub use warning::PlanWarning;
pub use work::{WorkReport, WorkStatus};
