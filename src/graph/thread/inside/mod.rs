//! The past of a thread and of the subgraphs in it.
//!
//! | file | what it knows |
//! |---|---|
//! | `outline` | checkpoints with their tasks in outline |
//! | `calling_task` | tasks that call subgraphs, by their places in a namespace |
//! | `subgraph_run` | the checkpoints and states of a subgraph that a task called |
//!
//! Small because it only lists the folder.

mod calling_task;
pub(crate) mod outline;
mod subgraph_run;

pub use subgraph_run::SubgraphRun;
