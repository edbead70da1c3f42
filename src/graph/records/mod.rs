//! Between a run and the checkpoint contract: positions to records and back, in order and as durable as asked.
//!
//! Knows no task's body.

pub(crate) mod foremost;
pub(crate) mod load;
pub(crate) mod mapping;
pub(crate) mod noted;
pub(crate) mod reader;
pub(crate) mod recorder;
pub(crate) mod save;
