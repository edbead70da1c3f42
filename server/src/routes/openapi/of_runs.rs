//! The routes of runs and of their events in the description.

use utoipa::openapi::schema::ArrayBuilder;

use super::super::many_runs::CancelBody;
use super::route::{Route, any, count, delete, get, object, post, text};
use crate::choices::{one_of, stop_action};
use crate::records::run::RunJson;
use crate::runs::request::RunBody;

const VALUES: &str = "The values of the state at the end; with `__interrupt__` if it stopped at questions, `__error__` if it \
                      failed. Blanks are sent until then.";
const EVENTS: &str =
    "Events, whose data is JSON: `metadata`, and those of the stream modes; `error` and `gap` where they occur.";
const LAST: &str = "The id of the last event that the reader has, or `-1` for all; only new events without it.";
const MODES: &str = "The stream modes that the reader wants, separated by commas; all without it.";

/// Returns the routes of runs.
pub(super) fn runs() -> Vec<Route> {
    let mut routes = of_threads();
    routes.extend(alone());
    routes.extend(of_events());
    routes
}

fn of_threads() -> Vec<Route> {
    let waits = one_of(["0", "1", "false", "true"]);
    vec![
        post("/threads/{thread_id}/runs", "create_run", "Creates a run of a thread")
            .body::<RunBody>()
            .answer::<RunJson<'_>>("The run, which is stored.")
            .names_run()
            .errors([404, 409]),
        get("/threads/{thread_id}/runs", "list_runs", "Lists the runs of a thread")
            .parameter("limit", count(), "The number of runs; 10 unless set.")
            .parameter("offset", count(), "The number of runs that are left out at the start.")
            .parameter("status", text(), "The status of the runs.")
            .parameter("select", text(), "The fields of the runs, separated by commas.")
            .page::<RunJson<'_>>("A page of runs, the newest first.")
            .errors([404]),
        post("/threads/{thread_id}/runs/wait", "wait_for_new_run", "Creates a run of a thread, and waits for its end")
            .body::<RunBody>()
            .answer_of(any(), VALUES)
            .names_run_again()
            .errors([404, 409]),
        post("/threads/{thread_id}/runs/stream", "stream_new_run", "Creates a run of a thread, and streams its events")
            .body::<RunBody>()
            .stream(EVENTS)
            .names_run_again()
            .errors([404, 409]),
        get("/threads/{thread_id}/runs/{run_id}", "get_run", "Returns a run")
            .answer::<RunJson<'_>>("The run.")
            .errors([404]),
        delete("/threads/{thread_id}/runs/{run_id}", "delete_run", "Deletes a run, which is stopped before")
            .empty(204, "It is deleted.")
            .errors([404, 409]),
        get("/threads/{thread_id}/runs/{run_id}/join", "join_run", "Waits for the end of a run")
            .answer_of(any(), VALUES)
            .errors([404]),
        get("/threads/{thread_id}/runs/{run_id}/stream", "join_run_stream", "Streams the events of a run")
            .parameter("stream_mode", text(), MODES)
            .header("last-event-id", LAST)
            .stream(EVENTS)
            .errors([404, 422]),
        post("/threads/{thread_id}/runs/{run_id}/cancel", "cancel_run", "Stops a run")
            .parameter("action", stop_action(), "`rollback` removes the run with its checkpoints.")
            .parameter("wait", waits, "Waits until it has stopped.")
            .empty(202, "It will be stopped.")
            .answer_of(object(), "It has stopped.")
            .errors([404, 422]),
    ]
}

fn alone() -> Vec<Route> {
    let batch = post("/runs/batch", "create_runs", "Creates runs, each with a thread of its own");
    vec![
        post("/runs", "create_run_alone", "Creates a run with a thread of its own")
            .body::<RunBody>()
            .answer::<RunJson<'_>>("The run, which is stored.")
            .names_run()
            .errors([404, 409]),
        post("/runs/wait", "wait_for_new_run_alone", "Creates a run with a thread of its own, and waits for its end")
            .body::<RunBody>()
            .answer_of(any(), VALUES)
            .names_run_again()
            .errors([404, 409]),
        post("/runs/stream", "stream_new_run_alone", "Creates a run with a thread of its own, and streams its events")
            .body::<RunBody>()
            .stream(EVENTS)
            .names_run_again()
            .errors([404, 409]),
        of_batch(batch),
        post("/runs/cancel", "cancel_runs", "Stops runs")
            .parameter("action", stop_action(), "`rollback` removes the runs with their checkpoints.")
            .body::<CancelBody>()
            .empty(204, "They will be stopped.")
            .errors([404]),
        get("/runs/{run_id}/join", "join_run_alone", "Waits for the end of a run that is named without its thread")
            .answer_of(any(), VALUES)
            .errors([404]),
        get(
            "/runs/{run_id}/stream",
            "join_run_stream_alone",
            "Streams the events of a run that is named without its thread",
        )
        .parameter("stream_mode", text(), MODES)
        .header("last-event-id", LAST)
        .stream(EVENTS)
        .errors([404, 422]),
    ]
}

fn of_batch(mut route: Route) -> Route {
    let requests = ArrayBuilder::new().items(route.reference::<RunBody>()).max_items(Some(1000)).build();
    route.body_of(requests).list::<RunJson<'_>>("The runs.").errors([404, 409])
}

/// The events of threads, over runs.
fn of_events() -> Vec<Route> {
    vec![
        get("/threads/{thread_id}/stream", "stream_thread", "Streams the events of all runs of a thread")
            .parameter(
                "stream_mode",
                text(),
                "`run_modes` (unless set), `lifecycle` and `state_update`, separated by commas.",
            )
            .header("last-event-id", LAST)
            .stream("The events of the runs, with `metadata {status: run_done, run_id}` after each run.")
            .errors([404, 422]),
        post("/threads/{thread_id}/commands", "send_thread_command", "Executes a command of the event protocol")
            .note("`{id, method, params}`; the methods are `run.start`, `input.respond` and `agent.getTree`.")
            .body_of(object())
            .answer_of(object(), "`{type: success, id, result, meta}`, or `{type: error, id, error, message}`.")
            .error_of(400, object(), "It is no command: `{type: error, id, error, message}`."),
        post(
            "/threads/{thread_id}/stream/events",
            "stream_thread_events",
            "Streams the typed events of the event protocol",
        )
        .note("`{channels, namespaces, depth, since}`.")
        .body_of(object())
        .stream("Events, each with its method as its name and its `seq` as its id."),
        get("/threads/{thread_id}/stream/events", "connect_thread_events", "Opens a WebSocket of the event protocol")
            .note("Commands and events, both ways.")
            .empty(101, "A WebSocket.")
            .errors([400, 426]),
    ]
}
