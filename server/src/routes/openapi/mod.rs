//! The description of the routes, `/openapi.json`: for each its parameters, its body, its answers and its errors. Bodies and answers
//! are described by their own types, roles by the table of `security`.
//!
//! | file | what it knows |
//! |---|---|
//! | `document` | the whole document, and its route |
//! | `route` | the description of one route |
//! | `errors` | errors, and which of them any route has |
//! | `of_assistants`, `of_threads`, `of_runs`, `of_crons`, `of_store`, `of_inbox`, `of_branches`, `of_inspection`, `of_server` | the routes |
//!
//! Small because it only lists the folder.

mod document;
mod errors;
mod of_assistants;
mod of_branches;
mod of_crons;
mod of_inbox;
mod of_inspection;
mod of_runs;
mod of_server;
mod of_store;
mod of_threads;
mod route;

pub(super) use document::routes;
