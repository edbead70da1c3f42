//! The values that readers and listeners get: events, snapshots, journals, the outline of a graph.
//!
//! Data only. Knows no loop and no thread handle.

mod child;
mod event;
mod event_log;
pub(crate) mod journal_entries;
mod ledger;
pub(crate) mod origin;
pub(crate) mod outline;
mod replay_listener;
mod secrets;
pub(crate) mod snapshot;
mod task_journal;
pub(crate) mod untyped;

pub use child::AnyChild;
pub use event::{CheckpointView, Event, EventKind, Mode, TaskView};
pub use origin::{EventTask, MessageMetadata};
pub use snapshot::{FailureInfo, Nested, Snapshot, StateSnapshot, TaskSnapshot};
pub use task_journal::{
    ChildRun, JournalEffect, JournalEntry, JournalKind, JournalMessage, JournalQuestion, JournalRun, TaskJournal,
};
pub use untyped::View;

pub(crate) use child::{Face, Facts, Inner, Left, NestedRead};
pub(crate) use event::Sink;
pub(crate) use event_log::{EventLog, RecordedEvent};
pub(crate) use ledger::{Activation, Ledger, LedgerTask};
pub(crate) use outline::{Edge, EdgeKind, Outline, OutlineNode};
pub(crate) use replay_listener::ReplayListener;
pub(crate) use secrets::Secrets;
pub(crate) use snapshot::Seen;
pub(crate) use untyped::Shown;
