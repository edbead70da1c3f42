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
//! | `posted_answers` | answers to a thread that somebody runs |
//! | `resume`, `answer` | continuing a thread; answers matched to questions, and stored |
//! | `update`, `state_update` | writing the state from outside |
//! | `scope`, `fork` | subgraphs of a thread; records that go with a fork |
//! | `migrate` | threads that another version of the graph stored |
//! | `snapshot`, `journal`, `history` | a checkpoint, the journal of a task, all checkpoints, as a reader sees them |
//! | `inside` | checkpoints in outline, and those of the subgraphs that tasks ran |
//! | `status` | the status of a thread |
//! | `listing`, `filter` | the threads of a store |
//! | `mailbox` | signals |
//! | `maintenance` | tags, retention, copies, deletion |

mod answer;
pub(crate) mod filter;
mod fork;
pub(crate) mod handle;
mod history;
pub(crate) mod inside;
pub(crate) mod journal;
pub(crate) mod listing;
mod mailbox;
mod maintenance;
mod migrate;
mod open;
pub(crate) mod outcome;
mod posted_answers;
pub(crate) mod request;
mod resume;
mod run_request;
mod scope;
pub(crate) mod snapshot;
pub(crate) mod state_update;
pub(crate) mod status;
pub(crate) mod stream;
mod update;

pub(crate) use filter::ThreadFilter;
pub use filter::ThreadPage;
pub use handle::STATE_LIMIT;
pub(crate) use handle::{LeaseSlot, Thread, ThreadCore};
pub use history::History;
pub use inside::SubgraphRun;
pub(crate) use listing::ThreadInfo;
pub(crate) use outcome::Outcome;
pub use outcome::{Questions, Rest};
pub(crate) use request::AnyRequest;
pub use state_update::UpdateReport;
pub(crate) use status::Status;
pub(crate) use stream::EventStream;
