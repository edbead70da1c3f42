//! Requests to the process that holds the store, through a socket in the store's directory that only its owner may
//! open. Knows the store's path and the active runs; must not know the store's content.
//!
//! | file | what it knows |
//! |---|---|
//! | `active_runs` | the runs of this process and their latest events |
//! | `wire` | the socket, its permissions; lines of JSON, their limits |
//! | `server`, `remote` | connections and replies; the thread service of another process |
//! | `none` | platforms without Unix sockets |
//! | `holder` | the service of this process, and connections to the process that holds the store |
//!
//! Small because it only lists the folder.

#![cfg_attr(not(unix), allow(dead_code, reason = "nobody listens"))]

mod active_runs;
mod holder;
#[cfg(not(unix))]
mod none;
#[cfg(unix)]
mod remote;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod wire;

#[cfg(feature = "server")]
pub(crate) use active_runs::RunGuard;
pub(crate) use holder::{Control, HolderConnection, reach};
