//! Crons: dates of a schedule, and the runs that are created at them.
//!
//! | file | what it knows |
//! |---|---|
//! | `schedule` | dates of a schedule in a time zone |
//! | `due` | the run of a cron whose date has come |
//!
//! Small because it only lists the folder.

pub(crate) mod due;
pub(crate) mod schedule;
