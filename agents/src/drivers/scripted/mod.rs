//! Driver `scripted:FILE`: plays turns from a YAML scenario that change real files, for tests and demonstrations. Knows
//! files inside a folder; knows no model.
//!
//! The format is described in `docs/scenarios.md`.
//!
//! | file | what it knows |
//! |---|---|
//! | `driver` | playing a turn, and its changes of files |
//! | `choose` | the turn for a request, and the log of used ones |
//! | `scenario`, `words` | turns and steps; formats of values |
//!
//! Small because it only lists the folder.

mod choose;
mod driver;
mod scenario;
mod words;

pub use driver::Scripted;
pub use scenario::ScenarioError;
