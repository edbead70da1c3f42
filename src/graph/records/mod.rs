//! Records without types: how a run writes them in order and as durably as asked, and how they are found again.
//!
//! Knows no state and no graph.

pub(crate) mod active_child;
pub(crate) mod cache;
pub(crate) mod caller;
mod checkpoint_info;
mod checkpoint_reader;
pub(crate) mod child_copies;
pub(crate) mod claims;
pub(crate) mod clock;
mod emitted;
mod entry_key;
mod growth;
mod held_until_exit;
pub(crate) mod ids;
mod journal;
pub(crate) mod journal_copy;
mod journal_path;
pub(crate) mod keyed_signal;
mod known_values;
mod last_ends;
mod lineage;
pub(crate) mod mailbox;
pub(crate) mod mapping;
mod noted;
mod planned;
mod puts;
pub(crate) mod reader;
mod receive;
pub(crate) mod recorder;
mod riding;
mod unclaimed;

pub use cache::{MemoryCache, NodeCache};
pub use checkpoint_info::CheckpointInfo;
pub use clock::Clock;
pub use recorder::Durability;

pub(crate) use active_child::Called;
pub(crate) use caller::Caller;
pub(crate) use child_copies::Stamp;
pub(crate) use claims::{Claim, StoredChannel};
pub(crate) use clock::Host;
pub(crate) use entry_key::EntryKey;
pub(crate) use growth::growth;
pub(crate) use ids::{BY_HANDLER, COMMAND_KEY, HALF_ID, HANDLER, NEW_LINE, SENT, START_KEY, START_NODE, UPDATE_KEY};
pub(crate) use journal::{EFFECTS_LIMIT, Found, Journal, ORIGIN};
pub(crate) use journal_path::{JournalPath, PathTask, escaped_key, handler_of};
pub(crate) use keyed_signal::KeyedSignal;
pub(crate) use known_values::{KnownState, KnownValues};
pub(crate) use last_ends::LastEnds;
pub(crate) use lineage::Listed;
pub(crate) use mailbox::{PendingSignal, SIGNAL_BYTES, SIGNALS_LIMIT};
pub(crate) use mapping::{Mapping, Other};
pub(crate) use puts::Puts;
pub(crate) use reader::{Reader, Tasks};
pub(crate) use recorder::{Recorder, ThreadGuard};
