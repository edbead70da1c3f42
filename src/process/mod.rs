//! Child programs, each in a process group of its own, and in a cgroup where that is possible, so that its end is the end of all
//! it started: their input and
//! output, environment, limits, and what of them may be shown. The one room that starts programs; it knows none of them.

mod cgroup;
mod environment;
mod group;
mod keys;
mod lines;
mod output;
mod program;
mod redactor;
mod running;

pub use environment::Environment;
pub use keys::Key;
pub use output::Output;
pub(crate) use output::Tail;
pub use program::Program;
pub(crate) use program::{Bounds, How, Ran};
pub use redactor::Redactor;
pub use running::{Exit, Heard, Running, Stopped, Watch};
