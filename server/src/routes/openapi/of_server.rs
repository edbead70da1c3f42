//! The routes of the server itself in the description: health, information, numbers, and the protocol of coding agents.

use super::super::events::EventsQuery;
use super::super::meta::OkQuery;
use super::route::{Route, get, object, text};

/// Returns the routes of the server.
pub(super) fn server() -> Vec<Route> {
    vec![
        get("/", "get_root", "Returns whether the server answers").query::<OkQuery>().answer_of(object(), "`ok`."),
        get("/ok", "get_ok", "Returns whether the server answers").query::<OkQuery>().answer_of(object(), "`ok`."),
        get("/info", "get_info", "Returns what the server is").answer_of(object(), "Its version, what it can do, and the name and the role of the key as `caller`."),
        get("/openapi.json", "get_openapi", "Returns this document").answer_of(object(), "An OpenAPI document."),
        get("/metrics", "get_metrics", "Returns numbers for Prometheus").content("text/plain", text(), "Numbers, a line each."),
        get("/events", "stream_events", "Streams what happens to all threads")
            .query::<EventsQuery>()
            .header("last-event-id", "The number of the last event that the reader has, in the place of `since`.")
            .stream("Events `activity {seq, at, thread, graph, kind, ..}`, and `gap {from, to}` for those that are missing."),
    ]
}

/// Returns the page that shows the description.
pub(super) fn page() -> Vec<Route> {
    let css = get("/docs/docs.css", "get_docs_style", "Returns the style of the page");
    let js = get("/docs/docs.js", "get_docs_script", "Returns the script of the page");
    vec![
        get("/docs", "get_docs", "Returns the page that shows this document").content("text/html", text(), "A page."),
        css.content("text/css", text(), "A style."),
        js.content("text/javascript", text(), "A script."),
    ]
}

/// Returns the routes of the Model Context Protocol.
#[cfg(feature = "mcp")]
pub(super) fn mcp() -> Vec<Route> {
    use super::route::{any, delete, post};
    let send = post("/mcp", "send_mcp", "Sends a message of the Model Context Protocol");
    vec![
        send.note("JSON-RPC; `accept` must name `application/json` and `text/event-stream`.")
            .header("mcp-session-id", "The session of a client that has one.")
            .body_of(object())
            .answer_of(any(), "The answer.")
            .empty(202, "A notification was taken.")
            .errors([404, 406]),
        delete("/mcp", "end_mcp_session", "Ends a session of the Model Context Protocol")
            .header("mcp-session-id", "The session.")
            .empty(202, "It is ended.")
            .errors([404]),
    ]
}
