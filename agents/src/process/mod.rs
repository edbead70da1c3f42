//! Child programs: their input and output, environment, limits, and redaction. Each runs in its own process group, and
//! in a cgroup where possible, so that all its descendants end with it. The only module that starts programs; it knows
//! none of them.

mod alive;
mod cgroup;
mod environment;
mod group;
mod output;
mod program;
mod redactor;
mod running;

pub use alive::{Life, ProcessId, booted, has_variable, may_use, works_in};
pub use environment::Environment;
pub(crate) use group::EndMark;
pub use output::{Output, Tail};
pub use program::{Bounds, How, Program, Ran, RunEnd};
pub use redactor::Key;
pub use redactor::Redactor;
pub use running::{Exit, OutputItem, Running, Stopped, Watch};
