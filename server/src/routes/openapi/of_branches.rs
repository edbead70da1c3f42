//! The routes of forks and of exported threads in the description.
//!
//! Small because they are few.

use super::super::branches::fork::ForkBody;
use super::super::branches::transfer::ImportQuery;
use super::route::{Route, get, object, post, text};

const FILE: &str = "application/octet-stream";

/// Returns the routes of forks and of exported threads.
pub(super) fn branches() -> Vec<Route> {
    vec![
        post(
            "/threads/{thread_id}/fork",
            "fork_thread",
            "Continues a thread from a checkpoint, as a thread of its own or in the same one",
        )
        .note("With `preview` nothing is stored.")
        .body::<ForkBody>()
        .answer_of(object(), "`thread`, `checkpoint`, and `next`: the nodes that would run.")
        .errors([400, 403, 404, 409]),
        get("/threads/{thread_id}/export", "export_thread", "Returns a thread as a file, without its secrets")
            .content(FILE, text(), "A file that `import` takes.")
            .errors([404, 409, 413]),
        post("/threads/import", "import_thread", "Stores an exported thread, untrusted until somebody trusts it")
            .query::<ImportQuery>()
            .body_as(FILE, text())
            .answer_of(object(), "`thread`, `graph` and `trusted`.")
            .errors([409]),
    ]
}
