//! The embedded store. The only room that names sled.
//!
//! Reads run on the caller's thread; writes run on one thread, many commits per sync. The gaps of sled 0.34.7 in a
//! power cut are closed here: see `disk`, `rows` and `open`.

mod backup;
mod batch;
mod commit_marker;
mod committer;
mod compact;
mod delete;
mod directory;
mod disk;
mod epoch;
mod faults;
mod files;
mod git_index;
mod image;
mod lock;
mod open;
mod options;
mod page;
mod queue;
mod quiet;
mod read;
mod repair;
mod reserve;
mod rows;
mod segment;
mod small;
mod store;
mod survey;
mod swap;
#[cfg(feature = "test-util")]
mod testing;
mod tracked;
mod view;

pub use self::compact::Compacted;
pub use self::options::SledOptions;
pub use self::store::SledCheckpointer;
#[cfg(feature = "test-util")]
pub use self::testing::SledFaults;
