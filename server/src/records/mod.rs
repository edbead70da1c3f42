//! Records of the server beside the threads: assistants, metadata and queues of threads, runs.
//!
//! | file | what it knows |
//! |---|---|
//! | `items`, `pages` | records as items of the store, and read a page at a time |
//! | `damage` | records that cannot be read |
//! | `assistant`, `thread`, `run`, `cron` | the records, and their JSON on the wire |
//! | `event` | events of runs in batches |
//! | `delivery`, `timer` | webhooks that are still to be sent; times at which the server does something by itself |
//! | `mark` | places of events among the supersteps of a run |
//! | `deletion` | threads that were deleted, for the other servers |
//! | `order` | writes of records, and the orders in which threads are listed |
//! | `time` | times on the wire |
//!
//! Small because it only lists the folder.

pub(crate) mod assistant;
pub(crate) mod cron;
mod damage;
pub(crate) mod deletion;
pub(crate) mod delivery;
pub(crate) mod event;
pub(crate) mod items;
pub(crate) mod mark;
pub(crate) mod order;
pub(crate) mod pages;
pub(crate) mod run;
pub(crate) mod thread;
pub(crate) mod time;
pub(crate) mod timer;
