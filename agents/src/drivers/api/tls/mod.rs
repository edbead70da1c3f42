//! TLS with ring and the system's root certificates. No crate feature chooses its cryptography: features of `rustls` and
//! `reqwest` are shared with the user's program, and one that is turned on here would change or break the clients there.
//! Small because it only lists the folder.

mod aead;
mod primitives;
mod suites;

pub(super) use suites::config;
