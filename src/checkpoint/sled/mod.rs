//! The embedded store. The only room that names sled.
//!
//! The code that embedded stores share is in `embedded`. The gaps of sled 0.34.7 in a power cut are closed here:
//! see `disk` and `open`.
//!
//! | file | what it knows |
//! |---|---|
//! | `store` | `SledCheckpointer`, and compaction |
//! | `open` | the steps of opening, and what is checked before |
//! | `disk` | sled's calls, and the options |
//! | `survey`, `segment` | sled's log, looked at before sled opens it |
//! | `image` | the log, read without sled |
//! | `swap` | a compacted database in place of the old one |
//!
//! Small because it only lists the folder.

mod disk;
mod image;
mod open;
mod segment;
mod store;
mod survey;
mod swap;

pub use disk::SledOptions;
pub use store::SledCheckpointer;
