//! The routes of threads, their states and their events in the description.

use super::super::find_threads::SearchBody;
use super::super::lifetime::PruneBody;
use super::super::states::{CheckpointRequest, HistoryBody, HistoryQuery, UpdateBody};
use super::super::threads::ThreadBody;
use super::route::{Route, count, delete, get, object, patch, post, text};
use crate::wire_types::{StateJson, ThreadJson, UpdateJson};

/// Returns the routes of threads and of their states.
pub(super) fn threads() -> Vec<Route> {
    let mut routes = of_all();
    routes.extend(of_one());
    routes
}

fn of_all() -> Vec<Route> {
    vec![
        post("/threads", "create_thread", "Creates a thread")
            .body::<ThreadBody>()
            .answer::<ThreadJson<'_>>("The thread.")
            .errors([404, 409]),
        post("/threads/search", "search_threads", "Lists threads")
            .body::<SearchBody>()
            .page::<ThreadJson<'_>>("A page of threads."),
        post("/threads/count", "count_threads", "Counts threads")
            .body::<SearchBody>()
            .answer_of(count(), "The number of threads."),
        post("/threads/prune", "prune_threads", "Deletes threads, or their past")
            .note("Threads that are not there and threads with a run are left out.")
            .body::<PruneBody>()
            .answer_of(object(), "`pruned_count`."),
        get("/threads/{thread_id}", "get_thread", "Returns a thread")
            .parameter("include", text(), "`ttl` adds the time for which it is kept.")
            .answer::<ThreadJson<'_>>("The thread.")
            .errors([404]),
        patch("/threads/{thread_id}", "update_thread", "Adds metadata to a thread")
            .body::<ThreadBody>()
            .answer::<ThreadJson<'_>>("The thread.")
            .errors([404, 409]),
        delete("/threads/{thread_id}", "delete_thread", "Deletes a thread without runs that have not ended")
            .empty(204, "It is deleted.")
            .errors([404, 409]),
        post("/threads/{thread_id}/copy", "copy_thread", "Copies a thread with its checkpoints")
            .answer_of(object(), "The new thread, without its values.")
            .errors([404]),
        post("/threads/{thread_id}/trust", "trust_thread", "Allows an imported thread to be run")
            .note("Its state is passed to nodes, its answers count as given, its recorded effects as done.")
            .answer::<ThreadJson<'_>>("The thread.")
            .errors([404, 409]),
    ]
}

fn of_one() -> Vec<Route> {
    vec![
        get("/threads/{thread_id}/state", "get_thread_state", "Returns the state of a thread")
            .answer::<StateJson>("The state.")
            .errors([404]),
        post("/threads/{thread_id}/state", "update_thread_state", "Changes a state as if a node had run")
            .body::<UpdateBody>()
            .answer::<UpdateJson>("The new checkpoint.")
            .errors([404, 409]),
        get("/threads/{thread_id}/state/{checkpoint_id}", "get_thread_state_at", "Returns the state at a checkpoint")
            .answer::<StateJson>("The state; an empty one if there is no such checkpoint.")
            .errors([404]),
        post(
            "/threads/{thread_id}/state/checkpoint",
            "get_thread_state_at_checkpoint",
            "Returns the state at a checkpoint",
        )
        .body::<CheckpointRequest>()
        .answer::<StateJson>("The state; an empty one if there is no such checkpoint.")
        .errors([404]),
        get("/threads/{thread_id}/history", "list_thread_history", "Lists the states of a thread")
            .query::<HistoryQuery>()
            .list::<StateJson>("States, the newest first.")
            .errors([404]),
        post("/threads/{thread_id}/history", "search_thread_history", "Lists the states of a thread")
            .body::<HistoryBody>()
            .list::<StateJson>("States, the newest first.")
            .errors([404]),
    ]
}
