//! Child programs, each in a process group of its own, so that its end is the end of all it started: their input and
//! output, environment, limits, and what of them may be shown. Knows no agent and no command line of one.

mod environment;
mod group;
mod lines;
mod output;
mod program;
mod redactor;
mod running;

pub use environment::Environment;
pub use output::Output;
pub use program::Program;
pub use redactor::Redactor;
pub use running::{Exit, Heard, Running, Stopped, Watch};
