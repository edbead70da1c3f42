//! Records of the server beside the threads: assistants, metadata and queues of threads, runs.
//!
//! | file | what it knows |
//! |---|---|
//! | `items` | records as items of the store |
//! | `assistant`, `thread`, `run` | the records, and their JSON on the wire |
//! | `event` | events of runs in batches |
//! | `time` | times on the wire |
//!
//! Small because it only lists the folder.

pub(crate) mod assistant;
pub(crate) mod event;
pub(crate) mod items;
pub(crate) mod run;
pub(crate) mod thread;
pub(crate) mod time;
