//! Progress of runs in this process: the threads that are executed now, and the events that are to be written. Must not know the server.
//!
//! | file | what it knows |
//! |---|---|
//! | `executing`, `resumes` | the threads that are executed now; the number of times that threads were resumed unasked |
//! | `joined` | which new runs somebody has joined |
//! | `foreign` | how far the server has looked for threads of other programs |
//! | `log` | events that are to be in the store soon |
//! | `waits` | the positions of threads when they were read last |
//!
//! Small because it only lists the folder.

pub(crate) mod executing;
pub(crate) mod foreign;
pub(crate) mod joined;
pub(crate) mod log;
pub(crate) mod resumes;
pub(crate) mod waits;
