//! The process that holds the store can be asked: through a socket in the store's directory, which only its owner may open.
//! Knows the store's place and who runs what here; must not know what is in the store.
//!
//! | file | what it knows |
//! |---|---|
//! | `live` | the runs of this process, and what they told so far |
//! | `wire` | lines of JSON, their limits |
//! | `socket` | where the socket is, and who may use it |
//! | `server`, `counter` | connections; what is answered |
//! | `remote` | the desk in another process |
//! | `none` | the same where there are no such sockets: nobody |
//! | `holder` | what this process offers while it holds the store; how the one that does is reached |

#![cfg_attr(not(unix), allow(dead_code, reason = "nobody listens"))]

#[cfg(unix)]
mod counter;
mod holder;
mod live;
#[cfg(not(unix))]
mod none;
#[cfg(unix)]
mod remote;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod socket;
#[cfg(unix)]
mod wire;

pub(crate) use holder::{Control, Reached, reach};
