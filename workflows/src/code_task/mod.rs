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
//! | file | what it knows |
//! |---|---|
//! | `state`, `view` | the task, its attempts, children and outcome; queries on them |
//! | `start` | the start of a task, and of a fork |
//! | `graph`, `step` | nodes, edges, routers; their targets |
//! | `jobs`; `done`, `decided` | each node's job from the state; an update from its result, or from a decision; pure |
//! | `verifying`, `splitting` | the verifiers of an attempt; the children of a task |
//! | `records`, `summary` | the records of attempts; text for people |

mod decided;
mod done;
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

pub use graph::{code_task, code_task_agent, crew_graph, graph};
#[doc(hidden)]
pub use records::{digests, finding_lines, run_folder};
pub use start::{TaskStart, TaskStartError, fork};
pub use state::{
    Attempt, AttemptLine, ChildResult, Children, CodeTask, CodeTaskState, CodeTaskStateUpdate, Settings, Start,
    TaskOutcome, TaskPlace,
};
pub use step::CodeStep;
pub use summary::{label, summary};
