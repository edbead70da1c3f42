//! The rules of a superstep: which tasks are planned, how writes are applied, what is planned next.
//!
//! Pure. Knows no clock and no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `control` | what is ready: triggers, joins, deferred nodes, sends |
//! | `position` | a checkpoint in memory |
//! | `task` | one task, and what its end means |
//! | `writes` | writes applied to a state; writes as rows |
//!
//! Small because it only lists the folder.

mod control;
pub(crate) mod position;
pub(crate) mod task;
pub(crate) mod writes;

pub(crate) use control::{ApplyPass, Control, DeferredNode, Goto, JoinState, LastNode, Trigger};
pub(crate) use position::{FinishedResult, Packet, Position, Routing, StartInput, StoredChannels};
pub(crate) use task::{LatestRecord, LazyRecord, QUESTIONS_LIMIT, Resolve, SENDS_LIMIT, Starts, Task, TaskState};
pub(crate) use writes::{ENTRIES, LogTail, RouterView, StoredWrites, is_chunked};
