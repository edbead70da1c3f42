//! Transport of threads between stores: backups of stores, and single threads as files.
//!
//! Knows records and their bytes. Must not know states, nodes, or the type of a user's value.

pub(super) mod backup;
mod check_msgpack;
mod checks;
pub(super) mod copy;
pub(super) mod export;
mod facts;
mod file;
#[cfg(test)]
mod hostile;
pub(super) mod import;
mod redact;
mod structure;
