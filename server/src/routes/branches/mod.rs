//! Threads that begin where another one is or was: forks, and files of exported threads.
//!
//! Small because it only lists the folder.

mod file;
pub(super) mod fork;
pub(super) mod new_thread;
pub(super) mod transfer;
