//! The report of a verifier that is a command: what its output and its exit come to.

mod exit;
mod json;
mod reader;
mod select;
mod shown;

pub use exit::{Exit, ShellOutput};
pub use reader::ReportReader;
