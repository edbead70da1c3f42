//! The difference between two checkpoints: of one thread or two, of one graph or of several that name their channels alike.
//!
//! Knows values as JSON. Values of secret channels are compared and never shown.

mod compare;
mod edits;
pub(crate) mod outline;
mod serialize;
mod text;
mod thread;
mod types;

pub use edits::Edit;
pub use types::{Asked, Change, ChannelDiff, Diff, Inside, RecordedEntry, Side, SubgraphDiff};
