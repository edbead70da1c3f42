//! How a run is told while it goes on: plain lines, or a live tree on a terminal. Knows events as JSON, so that a run of
//! another process is told as one of this process; knows no graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `agent` | what the messages of an agent say: which task, the last action, what it used |
//! | `running` | the tasks that run |
//! | `lines`, `tree` | the two ways to show them |
//! | `view`, `display` | which way it is; the run, shown in it |

pub(crate) mod agent;
mod display;
pub(crate) mod lines;
pub(crate) mod running;
mod tree;
mod view;

pub(crate) use display::{BOARD, TICK, Watch};
pub(crate) use view::View;
