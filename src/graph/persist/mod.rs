//! Encoding of positions as records, and decoding.
//!
//! Knows no superstep loop.

pub(crate) mod load;
mod log_entries;
mod logs;
mod mapping;
pub(crate) mod save;
pub(crate) mod settled;
mod waiting;

pub(crate) use log_entries::LogEntries;
pub(crate) use settled::{LoadedChannels, Reading};
