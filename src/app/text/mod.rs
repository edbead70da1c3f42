//! What people read. Everything that comes from states, models or plans is escaped before it is printed: nothing in it moves
//! the cursor or changes a colour.

mod block;
mod escape;
mod journal;
mod lists;
mod phase;
mod stand;
mod story;
mod workflow;

pub(crate) use block::said;
pub(crate) use escape::{acts, clean, clean_lines, safe_json};
pub(crate) use lists::{columns_of, events, graphs, history, threads, waiting};
pub(crate) use stand::{meant, questions, shown, stand};
pub(crate) use story::{Part, part, story};
pub(crate) use workflow::workflow_event;
