//! Encoding of positions as records, and decoding.
//!
//! Knows no superstep loop.
//!
//! | file | what it knows |
//! |---|---|
//! | `save` | the keys of rows; writes, results and positions as records |
//! | `load` | a position and its tasks, from records |
//! | `channels` | the values of a checkpoint, and the present indexes of what is stored |
//! | `logs` | lists that are stored as the entries of a log |
//! | `control` | what runs next, as records and back |
//!
//! Small because it only lists the folder.

pub(crate) mod channels;
mod control;
pub(crate) mod load;
mod logs;
pub(crate) mod save;

pub(crate) use channels::{LoadedChannels, ReadPolicy};
pub(crate) use logs::LogEntries;
