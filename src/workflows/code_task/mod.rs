//! The workflow that executes a task in attempts: an agent works, verifiers observe, rules decide. A task with repeated
//! errors is split into children, each of which runs the same graph one depth further. Every attempt is recorded.
//!
//! ```text
//! START -> load_spec -> execute -> snapshot -> verify_stage -> verifier (one for each) -> verify_stage ..
//!   -> decide -> record -> execute | make_children -> child (one for each) -> aggregate_children -> snapshot ..
//!                       |  ask -> execute | child | snapshot | decide | finish
//!                       |  finish -> END
//! ```
//!
//! `jobs` builds each node's job from the state, `done` and `decided` turn results into updates; all are pure.

mod agent;
mod attempt;
mod child;
mod children;
mod decided;
mod done;
mod dry_run;
mod fork;
mod graph;
mod jobs;
mod outcome;
mod read_task;
mod records;
mod splitting;
mod start;
mod state;
mod step;
mod summary;
mod task;
mod verifying;
mod view;

pub use agent::code_task;
pub use attempt::{Attempt, AttemptLine, Obstacle, OutputChange};
pub use children::{ChildResult, Children};
pub use dry_run::{DryRun, DryVerifier};
pub use fork::fork;
pub use graph::{code_task_agent, graph};
pub use outcome::TaskOutcome;
pub use read_task::ReadTask;
pub use records::{digests, finding_lines, run_folder};
pub use start::{TaskStart, TaskStartError};
pub use state::{CodeTaskState, CodeTaskStateUpdate, Settings, Start, TaskPlace, WorkPlace};
pub use step::{AfterDecide, AfterExecute, AfterInput, AfterLoad, CodeStep};
pub use summary::{describe_question, label, question_commands, summary};
pub use task::CodeTask;
