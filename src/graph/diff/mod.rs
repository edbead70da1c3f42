//! The difference between two checkpoints: of one thread or two, of one graph or of several that name their channels alike.
//!
//! Knows values as JSON. Values of secret channels are compared and never shown.
//!
//! | file | what it knows |
//! |---|---|
//! | `report` | the difference, as data and as text |
//! | `edits` | edits from one JSON value to another |
//! | `outline` | one checkpoint, prepared for comparison |
//! | `channel_values` | single channels of one checkpoint |
//! | `compare` | both checkpoints: channels, questions, journals |
//!
//! Small because it only lists the folder.

mod channel_values;
mod compare;
mod edits;
pub(crate) mod outline;
pub(crate) mod report;

pub use edits::Edit;
pub use report::{ChannelDiff, DiffQuestion, RecordedEntry, Side, SubgraphChange, SubgraphDiff, ValueChange};
