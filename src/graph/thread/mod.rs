//! A thread: run it, answer it, read it, change its state, go back in its history.
//!
//! Knows runs as a whole; the tasks of a superstep are left to `run`.
//!
//! | file | what it knows |
//! |---|---|
//! | `handle` | the handle: options, and calls that run |
//! | `request`, `outcome`, `stream` | what a run is asked for, what it ends with, its events |
//! | `open` | the claim, the reader, stored breakpoints; the end that the last run left |
//! | `run_request` | a run from its request to its outcome |
//! | `resume`, `answer` | continuing a thread; answers matched to questions, and stored |
//! | `update`, `state_update` | writing the state from outside |
//! | `scope`, `fork` | subgraphs of a thread; records that go with a fork |
//! | `migrate` | threads that another version of the graph stored |
//! | `snapshot`, `journal`, `history` | a checkpoint, the journal of a task, all checkpoints, as a reader sees them |
//! | `status` | the status of a thread |
//! | `listing`, `filter` | the threads of a store |
//! | `mailbox` | signals |
//! | `maintenance` | tags, retention, copies, deletion |

mod answer;
mod filter;
mod fork;
pub(crate) mod handle;
mod history;
pub(crate) mod journal;
mod listing;
mod mailbox;
mod maintenance;
mod migrate;
mod open;
pub(crate) mod outcome;
mod request;
mod resume;
mod run_request;
mod scope;
pub(crate) mod snapshot;
mod state_update;
mod status;
mod stream;
mod update;

pub use filter::{ThreadFilter, ThreadPage};
pub use handle::{STATE_LIMIT, Thread};
pub use history::History;
pub use listing::ThreadInfo;
pub use outcome::{Outcome, Questions, Rest};
pub use request::Request;
pub use state_update::{StateUpdate, UpdateReport};
pub use status::{Status, StatusKind};
pub use stream::RunStream;

pub(crate) use handle::ThreadCore;
pub(crate) use listing::Progress;
pub(crate) use request::AnyRequest;
pub(crate) use stream::EventStream;
