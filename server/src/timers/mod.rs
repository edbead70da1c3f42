//! What the server does by itself at a time: each timer is taken by one server, in one write with what it does.
//!
//! | file | what it knows |
//! |---|---|
//! | `clock` | the timers whose time has come |
//! | `deliveries` | webhooks that are sent until they are accepted |
//! | `expiry` | threads at the end of their time |
//!
//! Small because it only lists the folder.

pub(crate) mod clock;
mod deliveries;
pub(crate) mod expiry;
