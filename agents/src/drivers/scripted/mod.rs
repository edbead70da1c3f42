//! Driver `scripted:FILE`: plays turns from a YAML scenario that change real files, for tests and demonstrations. Knows
//! files inside a folder; knows no model.
//!
//! The format is described in `docs/scenarios.md`.

mod choose;
mod driver;
mod files;
mod log;
mod play;
mod scenario;
mod step;
mod words;

pub use driver::Scripted;
pub use scenario::ScenarioError;
