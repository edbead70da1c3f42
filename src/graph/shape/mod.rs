//! The JSON of what programs read: snapshots, events, errors, threads.

pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod fields;
mod journal;
pub(crate) mod question;
pub(crate) mod signal;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod task;
pub(crate) mod thread;
