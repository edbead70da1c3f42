//! Display of a run while it is active: plain lines, or a live tree on a terminal. Knows events as JSON, so that it
//! shows the runs of other processes in the same way; must not know a graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `agent` | the progress of an agent, from its messages |
//! | `work` | the tasks, commits and cost that agents come to, from their messages |
//! | `running` | the running tasks |
//! | `lines`, `tree` | the two displays |
//! | `view`, `display` | the choice of one; the chosen display |

pub(crate) mod agent;
mod display;
pub(crate) mod lines;
pub(crate) mod running;
mod tree;
mod view;
mod work;

pub(crate) use display::{BOARD, TICK, Watch};
pub(crate) use view::View;
