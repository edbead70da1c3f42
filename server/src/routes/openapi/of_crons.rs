//! The routes of crons in the description.
//!
//! Small because types describe themselves.

use utoipa::openapi::schema::AllOfBuilder;

use super::super::crons::{CronBody, SearchBody};
use super::route::{Route, count, delete, get, object, patch, post};
use crate::records::cron::CronJson;
use crate::runs::request::RunBody;

/// Returns the routes of crons.
pub(super) fn crons() -> Vec<Route> {
    vec![
        with_schedule(post("/runs/crons", "create_cron", "Creates a cron whose runs have threads of their own")),
        with_schedule(post("/threads/{thread_id}/runs/crons", "create_thread_cron", "Creates a cron of a thread")),
        post("/runs/crons/search", "search_crons", "Lists crons")
            .body::<SearchBody>()
            .page::<CronJson<'_>>("A page of crons."),
        post("/runs/crons/count", "count_crons", "Counts crons")
            .body::<SearchBody>()
            .answer_of(count(), "The number of crons."),
        get("/runs/crons/{cron_id}", "get_cron", "Returns a cron").answer::<CronJson<'_>>("The cron.").errors([404]),
        change(patch("/runs/crons/{cron_id}", "update_cron", "Changes a cron")),
        delete("/runs/crons/{cron_id}", "delete_cron", "Deletes a cron").empty(204, "It is deleted.").errors([404]),
    ]
}

/// Describes the body of a cron: the request of its runs with a schedule.
fn with_schedule(mut route: Route) -> Route {
    let body = AllOfBuilder::new().item(route.reference::<CronBody>()).item(route.reference::<RunBody>()).build();
    route.body_of(utoipa::openapi::Schema::AllOf(body)).answer::<CronJson<'_>>("The cron.").errors([404, 409])
}

/// Describes the body of a change: fields that it does not have stay as they are.
fn change(mut route: Route) -> Route {
    let body = AllOfBuilder::new().item(route.reference::<CronBody>()).item(object()).build();
    route.body_of(utoipa::openapi::Schema::AllOf(body)).answer::<CronJson<'_>>("The cron.").errors([404, 409])
}
