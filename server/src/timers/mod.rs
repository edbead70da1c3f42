//! Timers of the server: one server takes each, in one write with the work that is due.
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
