//! Webhooks: which targets are allowed, how a request is signed and sent.
//!
//! | file | what it knows |
//! |---|---|
//! | `target` | addresses to which nothing is sent |
//! | `signature` | the header with the time and the HMAC |
//! | `client` | requests over HTTP and TLS |
//!
//! Small because it only lists the folder.

pub(crate) mod client;
pub(crate) mod signature;
mod target;
