//! A thread as a whole, by its records: how they hang together, what reaches what, how all of them are read and put back.
//! For retention, transport, backup and repair.
//!
//! Knows records and keys. Must not know states, nodes, or what a user's value is.

pub(super) mod anatomy;
pub(super) mod capture;
pub(super) mod deposit;
pub(super) mod foreign;
pub(super) mod needs;
pub(super) mod pages;
pub(super) mod reach;
pub(super) mod tags;
