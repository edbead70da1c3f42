//! The routes by which people see what a program does.
//!
//! | file | what it knows |
//! |---|---|
//! | `routes` | all of them |
//! | `inbox` | what waits for a person; answers that are checked |
//! | `status` | the status of a thread |
//! | `overview` | the graphs, and how much work waits |
//! | `spend` | tokens and cost by graph, task, role and day |
//!
//! Small because it only lists the folder.

mod inbox;
mod overview;
mod routes;
mod spend;
mod status;

pub(super) use inbox::InboxQuery;
pub(super) use overview::{GraphJson, HealthJson};
pub(super) use routes::of_people;
pub(super) use spend::{SpendJson, SpendQuery};
