//! Runs: what a client asks for, the queue of each thread, execution, and the events that readers follow.
//!
//! | file | what it knows |
//! |---|---|
//! | `request` | the body of a request, and what it asks of the engine |
//! | `events` | events of the engine as events on the wire |
//! | `queue` | runs that are created, and those that end |
//! | `execution` | who executes the next run of a thread |
//!
//! Small because it only lists the folder.

pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod queue;
pub(crate) mod request;
