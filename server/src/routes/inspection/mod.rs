//! Routes that take the past of a thread apart: its checkpoints with their tasks, the values of a state level by level, one task with
//! its journal, differences, and comparisons with the graph as it is now.
//!
//! | file | what it knows |
//! |---|---|
//! | `paths` | the paths of the routes |
//! | `words` | the parameters of a query |
//! | `place` | the graph that a request is about: that of a thread, or a subgraph that one of its tasks ran |
//! | `checkpoints` | lists of checkpoints, one of them, the values of its state, one of its tasks |
//! | `comparisons` | differences between checkpoints; verification, and what would be otherwise now |
//!
//! Small because it only lists the folder.

mod checkpoints;
pub(super) mod comparisons;
mod paths;
mod place;
mod words;

pub(super) use paths::routes;
