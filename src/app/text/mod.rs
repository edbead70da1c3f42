//! Text for people. Everything that comes from states, models or plans is escaped before it is printed, so that it
//! cannot move the cursor or change a colour.

mod block;
mod brief;
mod escape;
mod journal;
mod lists;
mod phase;
mod report;
mod story;
mod story_details;
mod workflow;

pub(crate) use block::emitted;
pub(crate) use escape::{clean, clean_lines, safe_json};
pub(crate) use lists::{columns_of, events, graphs, history, threads, waiting};
pub(crate) use report::{blocking, meant, questions, replaced, report, shown};
pub(crate) use story::{Part, part, story};
pub(crate) use story_details::Details;
pub(crate) use workflow::workflow_event;
