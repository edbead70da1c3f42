//! What a person who runs a server sees of it from outside.
//!
//! | file | what it knows |
//! |---|---|
//! | `request_id` | the ids of requests, of clients or made here |
//! | `request_log` | the span of a request, and the line that is logged with its answer |
//!
//! Small because it only lists the folder.

mod request_id;
mod request_log;

pub(crate) use request_id::with_request_ids;
pub(crate) use request_log::log_requests;
