//! Channels: what a state is made of, how writes meet in it, and how values become bytes.
//!
//! Pure: knows no node, task or store; of a run only the error it ends with.

pub(crate) mod canon;
pub(crate) mod channel;
pub(crate) mod data;
pub(crate) mod json;
mod loose;
pub(crate) mod mask;
pub(crate) mod merge;
pub(crate) mod reading;
pub mod reducers;
pub(crate) mod state;
pub(crate) mod value;
pub(crate) mod writes;
