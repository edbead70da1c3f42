//! Positions to records and back.
//!
//! Knows no loop.

pub(crate) mod load;
mod logs;
mod mapping;
pub(crate) mod save;
pub(crate) mod settled;
mod waiting;

pub(crate) use settled::{Reading, Settled};
