//! The embedded store on fjall, a log-structured merge tree. The only room that names fjall.
//!
//! The code that embedded stores share is in `embedded`. The gaps of fjall 3.1 are closed here.
//!
//! | file | what it knows |
//! |---|---|
//! | `store` | `FjallCheckpointer`, and compaction |
//! | `open` | the steps of opening, and what is checked before |
//! | `database` | fjall's calls, and the options |
//! | `clean_end` | what is done after the last write, so that the next opening reads little |
//! | `survey`, `journal` | fjall's files, looked at before fjall opens them |
//! | `copy` | a copy that is opened to read a store |
//!
//! Small because it only lists the folder.

mod clean_end;
mod copy;
mod database;
mod journal;
mod open;
mod store;
mod survey;

pub use database::FjallOptions;
pub use store::FjallCheckpointer;
