//! The past of a thread and of the subgraphs in it.
//!
//! | file | what it knows |
//! |---|---|
//! | `outline` | checkpoints with their tasks in outline, also of the subgraph that a task ran |
//! | `subgraph_run` | the checkpoints of a subgraph, by the namespace of its events |
//!
//! Small because it only lists the folder.

pub(crate) mod outline;
mod subgraph_run;

pub use outline::NestedRun;
pub use subgraph_run::SubgraphRun;
