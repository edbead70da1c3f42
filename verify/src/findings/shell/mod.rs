//! The report of a command: its output and exit, read as findings.

mod exit;
mod json;
mod reader;
mod select;
mod shown;

pub use exit::{Exit, ShellOutput};
pub use reader::ReportReader;
