//! The JSON of threads, runs, events and errors: one shape for each, which `Serialize` writes and the command line prints.
//! `docs/json.md` documents them.
//!
//! Must not know stores, commands or terminals.
//!
//! Small because it only lists the folder.

pub(crate) mod error;
pub(crate) mod fields;
mod journal;
pub(crate) mod question;
pub(crate) mod signal;
pub(crate) mod snapshot;
pub(crate) mod status;
pub(crate) mod thread;
