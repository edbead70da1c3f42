//! Records without types: how a run writes them in order and as durably as asked, and how they are found again.
//!
//! Knows no state and no graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `recorder`, `riders`, `pending_events` | the way of records into the store; those that are stored later than they are given |
//! | `reports` | what tasks report of themselves |
//! | `reader`, `checkpoint_reader` | one thread's records; its checkpoints, and the line that led to one |
//! | `mapping` | stored indexes to present ones |
//! | `fork` | copies for a fork of a checkpoint |
//! | `journal`, `journal_path` | the journal of a task, and the keys of its entries |
//! | `mailbox` | the signals that were sent to a thread |
//! | `cache` | what need not be computed or read again |
//! | `clock`, `ids` | the time and random numbers; reserved keys and numbers |

pub(crate) mod cache;
mod checkpoint_reader;
pub(crate) mod clock;
pub(crate) mod fork;
pub(crate) mod ids;
mod journal;
mod journal_path;
pub(crate) mod mailbox;
pub(crate) mod mapping;
mod pending_events;
pub(crate) mod reader;
pub(crate) mod recorder;
mod reports;
mod riders;

pub(crate) use cache::{KnownState, KnownValues, LastEnds};
pub use cache::{MemoryCache, NodeCache};
pub use checkpoint_reader::CheckpointInfo;
pub(crate) use checkpoint_reader::{ListedCheckpoint, growth};
pub use clock::Clock;
pub(crate) use clock::Host;
pub(crate) use fork::{Caller, Stamp};
pub(crate) use ids::{
    BY_HANDLER, COMMAND_KEY, HALF_ID, HANDLER, NEW_LINE, SENT, START_KEY, START_NAME, START_NODE, UPDATE_KEY,
};
pub(crate) use journal::{EFFECTS_LIMIT, Journal, LookupResult, ORIGIN};
pub(crate) use journal_path::{EntryKey, JournalPath, PathTask, escaped_key, handler_of};
pub(crate) use mailbox::{KeyedSignal, PendingSignal, SIGNAL_BYTES, SIGNALS_LIMIT};
pub(crate) use mapping::{Claim, Mapping, Other, StoredChannel};
pub(crate) use reader::{ChildPointer, Reader, Tasks};
pub use recorder::Durability;
pub(crate) use recorder::{Puts, Recorder, ThreadGuard};
