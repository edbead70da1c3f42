//! The routes that take the past of a thread apart in the description.

use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Object, RefOr};

use super::super::inspection::comparisons::ComparisonBody;
use super::route::{Route, count, get, object, post, text};
use crate::inspection::level::LevelJson;

const WITHIN: &str = "`CHECKPOINT:TASK`: the subgraph that a task ran. Several lead into subgraphs of subgraphs.";

/// Returns the routes.
pub(super) fn inspection() -> Vec<Route> {
    let mut routes = of_checkpoints();
    routes.extend(of_comparisons());
    routes
}

fn of_checkpoints() -> Vec<Route> {
    vec![
        within(get(
            "/threads/{thread_id}/checkpoints",
            "list_checkpoints",
            "Lists checkpoints with their tasks in outline",
        ))
        .note("The newest first. Neither states nor journals are read.")
        .parameter("limit", count(), "The number of checkpoints, 1 to 1000; 100 unless set.")
        .parameter("before", count(), "Only checkpoints before this one are returned.")
        .answer_of(checkpoints(), "Checkpoints, and the one before which the next page begins.")
        .errors([404, 422]),
        within(get("/threads/{thread_id}/checkpoints/{checkpoint_id}", "get_checkpoint", "Returns a checkpoint"))
            .note("With its tasks; without its state, their inputs and their journals.")
            .answer_of(object(), "The checkpoint.")
            .errors([404, 422]),
        value(),
        within(get(
            "/threads/{thread_id}/checkpoints/{checkpoint_id}/tasks/{task_id}",
            "get_task",
            "Returns a task with its journal",
        ))
        .note("`input` is one level of its input.")
        .answer_of(object(), "The task.")
        .errors([404, 422]),
    ]
}

fn value() -> Route {
    let path = "/threads/{thread_id}/checkpoints/{checkpoint_id}/value";
    within(get(path, "get_value", "Returns one level of the state at a checkpoint"))
        .note("An answer has less than 200 KB, unless `full` is set.")
        .parameter("path", text(), "A JSON pointer, such as `/list/0/name`; the whole state without it.")
        .parameter("limit", count(), "The number of entries, 1 to 1000; 200 unless set.")
        .parameter("after", count(), "The number of entries that are left out at the start: `next` of the page before.")
        .parameter("full", Object::with_type(Type::Boolean), "Returns up to 8 MiB of a text, instead of 64 KiB.")
        .answer::<LevelJson>("The level.")
        .errors([404, 422])
}

fn of_comparisons() -> Vec<Route> {
    vec![
        get("/threads/{thread_id}/diff", "diff_checkpoints", "Compares two checkpoints")
            .parameter("from", count(), "The old checkpoint.")
            .parameter("to", count(), "The new checkpoint.")
            .parameter("other", text(), "The thread of the new checkpoint; the same thread unless set.")
            .answer_of(object(), "The difference.")
            .errors([404, 422]),
        post("/threads/{thread_id}/verify", "verify_thread", "Compares a thread with what its graph does now")
            .note("Ends at the first difference. Runs no effect, and stores nothing.")
            .body::<ComparisonBody>()
            .answer_of(object(), "The number of supersteps that were compared, and the first difference.")
            .errors([404, 504]),
        post(
            "/threads/{thread_id}/what-if",
            "what_if_thread",
            "Returns what would have become of a thread with its graph now",
        )
        .note("Runs no effect, and stores nothing.")
        .body::<ComparisonBody>()
        .answer_of(object(), "The state that it would have, and the differences on the way to it.")
        .errors([404, 504]),
    ]
}

fn within(route: Route) -> Route {
    route.parameter("within", text(), WITHIN)
}

/// Returns the schema of a page of checkpoints.
fn checkpoints() -> Object {
    let next = SchemaType::from_iter([Type::Integer, Type::Null]);
    let list = ArrayBuilder::new().items(RefOr::T(object().into()));
    ObjectBuilder::new()
        .property("checkpoints", list)
        .property("next", ObjectBuilder::new().schema_type(next))
        .required("checkpoints")
        .required("next")
        .build()
}
