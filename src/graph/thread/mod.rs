//! A thread: run it, answer it, read it, change its state, go back in its history.
//!
//! Knows runs as a whole; the tasks of a superstep are left to `run`.

mod answer;
mod breakpoints;
mod carry;
mod compiled;
mod copy;
mod edit;
mod filter;
pub(crate) mod handle;
mod history;
mod journal;
mod keep;
mod last_end;
mod listing;
mod mailbox;
mod migrate;
mod open;
pub(crate) mod outcome;
pub(crate) mod past;
mod request;
mod resting;
mod resume_left;
mod run_request;
mod scheduled;
mod scope;
mod secrets;
pub(crate) mod snapshot;
mod status;
mod stream;
mod task_snapshot;
pub(crate) mod task_values;
mod trace;
mod travel;
mod unfinished;
mod update;
mod votes;

pub use edit::{StateUpdate, Updated};
pub use filter::{ThreadFilter, ThreadPage};
pub use handle::{STATE_LIMIT, Thread};
pub use history::History;
pub use listing::ThreadInfo;
pub use outcome::{Outcome, Questions, Rest};
pub use past::Status;
pub use request::Request;
pub use status::StatusKind;
pub use stream::RunStream;

pub(crate) use handle::ThreadCore;
pub(crate) use listing::Progress;
pub(crate) use request::AnyRequest;
pub(crate) use stream::EventStream;
