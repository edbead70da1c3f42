//! Parts that the embedded stores share: one directory for one process, one thread that writes, many commits per sync.
//!
//! Knows rows and files. Must not know which database holds the rows: see `engine`.

pub(super) mod batch;
pub(super) mod build;
pub(super) mod commit_marker;
mod committer;
pub(super) mod compacted;
pub(super) mod delegate;
pub(super) mod delete;
pub(super) mod directory;
pub(super) mod engine;
pub(super) mod epoch;
pub(super) mod faults;
pub(super) mod files;
mod git_index;
mod kind;
pub(super) mod lock;
pub(super) mod opening;
mod queue;
pub(super) mod quiet;
mod read;
mod recent;
pub(super) mod repair;
pub(super) mod reserve;
pub(super) mod rows;
pub(super) mod store;
#[cfg(feature = "test-util")]
mod testing;
mod tracked;
pub(super) mod view;

pub use self::compacted::Compacted;
pub use self::kind::StoreKind;
#[cfg(feature = "test-util")]
pub use self::testing::StoreFaults;
