//! The cryptography of TLS with ring. No crate feature chooses it: features of `rustls` and `reqwest` are shared with the user's
//! program, and one that is turned on here would change or break the clients there.
//! Small because it only lists the folder.

mod aead;
mod primitives;
mod suites;

pub use suites::provider;
