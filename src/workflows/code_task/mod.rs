//! The workflow that executes a task by attempts: an agent works, verifiers observe, rules decide. A task that keeps failing in the
//! same way is split into children, each of which runs the same graph one depth further. Every attempt is recorded.
//!
//! ```text
//! START -> load_spec -> execute -> snapshot -> verify_stage -> verifier (one for each) -> verify_stage ..
//!   -> decide -> record -> execute | make_children -> child (one for each) -> aggregate_children -> snapshot ..
//!                       |  ask -> execute | decide | make_children
//!                       |  finish -> END
//! ```
//!
//! What a node is to do is read from the state in `jobs`, its result changes the state in `done` and `decided`; all are pure.

mod attempt;
mod child;
mod children;
mod decided;
mod done;
mod dry_run;
mod graph;
mod jobs;
mod records;
mod splitting;
mod start;
mod state;
mod step;
mod summary;
mod verifying;
mod view;

pub use attempt::{Attempt, AttemptLine, Obstacle, OutputChange};
pub use child::{CodeTask, code_task, code_task_agent};
pub use children::{ChildResult, Children};
pub use dry_run::{DryRun, DryVerifier};
pub use graph::graph;
pub use records::{finding_lines, run_folder};
pub use start::{ReadTask, TaskStart, TaskStartError};
pub use state::{CodeTaskState, CodeTaskStateUpdate, Settings, Start, TaskOutcome, TaskPlace, WorkPlace};
pub use step::{AfterAsk, AfterDecide, AfterExecute, AfterInput, AfterLoad, CodeStep};
pub use summary::{describe_question, label, summary};
