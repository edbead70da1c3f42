//! Who runs a thread, and where: leases, the places that threads are bound to, the list of workers.
//!
//! | file | what it knows |
//! |---|---|
//! | `lease` | one writer for each thread: the guard, the store's side of it, the table of leases of one process |
//! | `handle` | the way from a store to the holder of a lease |
//! | `live` | those that are alive, by thread and by epoch |
//! | `place` | the machine and the folder that a thread is bound to |
//! | `worker` | the list of processes that run threads of a store |
//!
//! Small because it only lists the folder.

pub(super) mod handle;
pub(super) mod lease;
mod live;
pub(super) mod place;
pub(super) mod worker;
