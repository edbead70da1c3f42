//! Text for people. Everything that comes from states, models or plans is escaped before it is printed, so that it
//! cannot move the cursor or change a colour.
//!
//! | file | what it knows |
//! |---|---|
//! | `escape`, `values` | characters that a terminal would interpret; JSON values as lines |
//! | `lists`, `report` | threads and checkpoints in columns; one of them, with its tasks |
//! | `story`, `story_details` | what happened in a thread; what no event of it holds |
//! | `progress` | the running tasks and their agents, from events |
//! | `run_lines`, `run_tree` | an active run as plain lines, and as a live tree |
//!
//! Small because it only lists the folder.

mod escape;
mod lists;
mod progress;
mod report;
mod run_lines;
mod run_tree;
mod story;
mod story_details;
mod values;

pub(crate) use escape::{clean, clean_lines, safe_json};
#[cfg(feature = "server")]
pub(crate) use lists::keys;
pub(crate) use lists::{events, graphs, history, threads, waiting, workers};
pub(crate) use report::{answer_meanings, blocking, format_checkpoint, questions, replacements, report};
pub(crate) use run_lines::RunLines;
pub(crate) use run_tree::RunTree;
pub(crate) use story::{StoryPart, part, story};
pub(crate) use story_details::Details;
pub(crate) use values::{format_output, workflow_event};
