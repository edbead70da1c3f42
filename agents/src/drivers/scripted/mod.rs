//! `scripted:FILE`: turns from a scenario in YAML, that really change files, for tests and demonstrations. Knows files
//! beneath a folder; knows no model.
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
