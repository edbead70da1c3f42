//! The difference between two checkpoints.

mod compare;
mod edits;
pub(crate) mod outline;
mod serialize;
mod text;
mod thread;
mod types;

pub use edits::Edit;
pub use types::{Asked, Change, ChannelDiff, Diff, Inside, RecordedEntry, Side, SubgraphDiff};
