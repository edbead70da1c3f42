//! Ready-made nodes for graphs that execute plans, over any state: each is told by two closures what it reads from the
//! state and what it writes there. They know plans and the engine, no agent and no command line.
//!
//! ```
//! use superstep::nodes::next_task_node;
//! use superstep::plan::TaskProgress;
//! use superstep::prelude::*;
//!
//! #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
//! struct Job {
//!     progress: TaskProgress,
//! }
//! # #[derive(NodeId)] enum Step { NextTask }
//! let graph = StateGraph::<Job, Step>::new()
//!     .add_node(Step::NextTask, next_task_node(|job: &Job| job.progress, |next| Job::update().progress(next)))
//!     .add_edge(START, Step::NextTask)
//!     .compile()?;
//! # Ok::<(), CompileError>(())
//! ```

mod human_approval;
mod next_task;
mod run_command;
mod shell;

pub use human_approval::{ApprovePlan, human_approval};
pub use next_task::next_task_node;
pub use run_command::run_command;
pub use shell::{CommandError, CommandOutput, ShellCommand};
