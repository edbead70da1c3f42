//! Encoding of positions as records, and decoding.
//!
//! Knows no superstep loop.

pub(crate) mod load;
mod logs;
mod mapping;
pub(crate) mod save;
pub(crate) mod settled;
mod waiting;

pub(crate) use settled::{LoadedChannels, Reading};
