//! Checks of requests: keys and their roles, Host and Origin, limits. Must not know a run.
//!
//! | file | what it knows |
//! |---|---|
//! | `roles`, `access` | roles; the role that each route needs, in one table |
//! | `answers` | requests that only answer a question; who answers |
//! | `keys`, `key_file`, `key_error` | keys that are accepted; the file with their hashes; what is wrong with it |
//! | `origins`, `cors` | Host and Origin; what browsers let pages of other origins read |
//! | `limits`, `body` | limits and what is counted for them; bodies of requests |
//! | `secrets`, `past_secrets` | copies of the values of secret channels; values that the secret channels of a thread have had |
//! | `guard` | the check that all requests pass |
//! | `connections` | connections, with limits that only their listener can set |
//! | `settings` | settings of the checks |
//!
//! Small because it only lists the folder.

pub(crate) mod access;
pub(crate) mod answers;
mod body;
pub(crate) mod connections;
pub(crate) mod cors;
pub(crate) mod guard;
mod key_error;
mod key_file;
mod keys;
pub(crate) mod limits;
pub(crate) mod origins;
pub(crate) mod past_secrets;
mod roles;
pub(crate) mod secrets;
pub(crate) mod settings;

pub use key_error::KeysError;
pub use key_file::KeyEntry;
pub use keys::Keys;
pub use roles::{Caller, KeyRole, UnknownRole};
