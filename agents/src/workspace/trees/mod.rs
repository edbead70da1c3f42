//! HEADER

mod diff;
mod index;
mod merge;
mod reset;
mod snapshot;
mod unseen;

pub use diff::{Diff, FileDiff, FileStatus, LeakedKey};
pub(super) use index::{NAME, Scratch, own_folder, sweep};
pub use reset::Reset;
pub(super) use reset::{Steps, differing};
pub use snapshot::{LeftOut, Reason, Snapshot};
