//! Parts that the embedded stores share: one directory for one process, one thread that writes, many commits per sync.
//!
//! Knows rows and files. Must not know which database holds the rows: see `engine`.
//!
//! | file | what it knows |
//! |---|---|
//! | `engine` | what a database has to do, and how one fails |
//! | `rows` | keys of rows, parts of records, the store's own record |
//! | `kind`, `opening` | which store a directory holds, and the steps of opening it |
//! | `directory`, `files`, `lock` | permissions, durability, links, one process |
//! | `commit_marker` | the newest acknowledged commit, beside the database |
//! | `tracked` | stores that came with a clone, and trust in them |
//! | `queue`, `batch`, `committer` | requests, one change made of many, the thread that writes |
//! | `view` | what readers see meanwhile |
//! | `index` | rows of the index of threads |
//! | `store` | the contract, over all of these, and what each store's own folder adds |
//! | `build` | rewritten stores: backups, repairs, compactions |
//! | `public_methods` | methods that all stores show |
//! | `testing` | switches that make a store fail |

mod batch;
pub(super) mod build;
pub(super) mod commit_marker;
mod committer;
pub(super) mod directory;
pub(super) mod engine;
pub(super) mod files;
mod index;
pub(super) mod kind;
pub(super) mod lock;
pub(super) mod opening;
pub(super) mod public_methods;
mod queue;
pub(super) mod rows;
pub(super) mod store;
#[cfg(feature = "test-util")]
mod testing;
pub(super) mod tracked;
mod view;

pub use build::CompactionReport;
#[cfg(feature = "test-util")]
pub use testing::StoreFaults;
