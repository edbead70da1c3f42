//! The rules of a superstep: which tasks are planned, how writes are applied, what is planned next.
//!
//! Pure. Knows no clock and no store.

mod control;
mod log_tail;
mod past;
pub(crate) mod position;
mod router_view;
mod stored_writes;
pub(crate) mod task;
mod unknown_channels;

pub(crate) use control::{Applying, Control, Deferred, Goto, JoinState, LastRan, Trigger};
pub(crate) use log_tail::{ENTRIES, LogTail, is_chunked};
pub(crate) use past::{LatestRecord, Past, Starts};
pub(crate) use position::{Finished, Packet, Position, Routing, Start, StoredChannels};
pub(crate) use router_view::RouterView;
pub(crate) use stored_writes::StoredWrites;
pub(crate) use task::{QUESTIONS_LIMIT, Resolve, SENDS_LIMIT, Task, TaskState};
