//! One conversation with a graph: run it, answer it, read and rewrite its past.
//!
//! Knows runs as a whole, and writes the state by hand as a superstep would; the tasks of a superstep are not its business.

pub(crate) mod answer;
pub(crate) mod carry;
pub(crate) mod copy;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod filter;
pub(crate) mod go;
pub(crate) mod handle;
pub(crate) mod history;
pub(crate) mod journal;
mod keep;
pub(crate) mod listing;
mod mailbox;
mod moving;
pub(crate) mod open;
pub(crate) mod outcome;
pub(crate) mod past;
pub(crate) mod request;
pub(crate) mod resting;
pub(crate) mod scope;
pub(crate) mod snapshot;
pub(crate) mod standing;
pub(crate) mod stops;
pub(crate) mod stream;
pub(crate) mod task_snapshot;
pub(crate) mod travel;
mod unfinished;
pub(crate) mod update;
pub(crate) mod verify;
pub(crate) mod votes;
