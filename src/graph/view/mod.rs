//! The values that readers and listeners get: events, snapshots, journals, the outline of a graph.
//!
//! Data only. Knows no loop and no thread handle.
//!
//! | file | what it knows |
//! |---|---|
//! | `event`, `event_log` | events and the task each comes from; recorded events of a superstep |
//! | `snapshot`, `untyped` | a checkpoint and its tasks; states, payloads and writes as they are shown |
//! | `outline` | checkpoints and their tasks in outline |
//! | `task_journal`, `ledger` | the journal of a task; where journals are, and what is hidden in them |
//! | `child` | a graph by name, and a subgraph without its types |
//!
//! Small because it only lists the folder.

pub(crate) mod child;
pub(crate) mod event;
mod event_log;
mod ledger;
mod outline;
pub(crate) mod snapshot;
pub(crate) mod task_journal;
pub(crate) mod untyped;

pub use child::AnyChild;
pub(crate) use child::{ChildOutput, Edge, EdgeKind, Face, Facts, Inner, NestedRead, Outline, OutlineNode};
pub use event::parse_task_id;
pub(crate) use event::{CheckpointView, Event, EventKind, EventTask, Mode, Sink, TaskView};
pub(crate) use event_log::{CheckpointFilter, EventLog, RecordedEvent, ReplayListener};
pub(crate) use ledger::{Activation, HiddenTexts, Ledger, LedgerTask, Secrets};
pub use outline::{CheckpointOutline, TaskOutline};
pub use snapshot::{FailureInfo, NestedSnapshot, Snapshot, TaskSnapshot};
pub(crate) use snapshot::{ReadMode, StateSnapshot};
pub use task_journal::{
    ChildRun, JournalEffect, JournalEntry, JournalKind, JournalMessage, JournalQuestion, JournalRun, TaskJournal,
};
pub use untyped::View;
pub(crate) use untyped::{DebugState, StateJson};
