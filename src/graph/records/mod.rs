//! Between a run and the checkpoint contract: positions to records and back, in order and as durable as asked.
//!
//! Knows no task's body.

mod claims;
pub(crate) mod copies;
pub(crate) mod foremost;
mod held;
pub(crate) mod keyed_signal;
pub(crate) mod load;
mod logs;
pub(crate) mod mailbox;
pub(crate) mod mapping;
pub(crate) mod misfit;
pub(crate) mod noted;
pub(crate) mod reader;
pub(crate) mod recorder;
pub(crate) mod save;
pub(crate) mod settled;
mod unclaimed;
mod waiting;
