//! The routes of the inbox, of statuses and of graphs, in the description.
//!
//! Small because they are few.

use super::super::people::{GraphJson, HealthJson, InboxQuery, SpendJson, SpendQuery};
use super::route::{Route, get, object, post};
use crate::inbox::{CheckBody, ChecksJson, InboxJson};

/// Returns the routes of the inbox.
pub(super) fn inbox() -> Vec<Route> {
    vec![
        get("/inbox", "get_inbox", "Lists what waits for a person, the oldest first")
            .note("An item for each open question, and for each thread that cannot continue without a person.")
            .query::<InboxQuery>()
            .answer::<InboxJson>("A page of items."),
        get("/threads/{thread_id}/inbox", "get_thread_inbox", "Lists the inbox items of a thread")
            .query::<InboxQuery>()
            .answer::<InboxJson>("A page of its items: all, unless they are many or large.")
            .errors([404]),
        post("/threads/{thread_id}/check", "check_answers", "Checks answers without storing them")
            .note("Refuses what a run with the same answers would be refused for, and what the question itself cannot follow.")
            .body::<CheckBody>()
            .answer::<ChecksJson>("The problems of the answers; none if they can be given.")
            .errors([403, 404]),
        get("/threads/{thread_id}/status", "get_thread_status", "Returns the status of a thread")
            .note("The fields that `superstep status --json` prints for any graph.")
            .answer_of(object(), "The status.")
            .errors([404]),
        get("/health", "get_health", "Returns how much work waits").answer::<HealthJson>("Runs, processes and questions."),
        get("/spend", "get_spend", "Returns what runs have spent")
            .note("Tokens and cost as the nodes of all graphs of the store have reported them, in millionths of a dollar.")
            .query::<SpendQuery>()
            .answer::<SpendJson>("Amounts by graph, task, role and day."),
        get("/graphs", "list_graphs", "Lists the graphs of the server").list::<GraphJson>("The graphs."),
    ]
}
