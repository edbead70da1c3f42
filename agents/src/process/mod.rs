//! Child programs: their input and output, environment, limits, and redaction. Each runs in its own process group, and
//! in a cgroup where possible, so that all its descendants end with it. The only module that starts programs; it knows
//! none of them.
//!
//! | file | what it knows |
//! |---|---|
//! | `program` | a program with its input, environment and limits, run to its end |
//! | `running` | a program whose output is read line by line |
//! | `output` | the first and last bytes of an output |
//! | `group`, `cgroup` | a child and its descendants, which end together |
//! | `environment` | the variables of a child |
//! | `redactor` | keys, and their removal from texts |
//! | `alive` | the processes of this machine |
//! | `blocking` | work on a thread of its own |
//!
//! Small because it only lists the folder.

mod alive;
mod blocking;
mod cgroup;
mod environment;
mod group;
mod output;
mod program;
mod redactor;
mod running;

#[doc(hidden)]
pub use alive::Life;
pub(crate) use alive::{EndMark, ProcessId, boot_time, has_variable, may_use, works_in};
pub(crate) use blocking::run_blocking;
pub use environment::Environment;
pub use output::Output;
pub(crate) use output::Tail;
pub(crate) use program::{BoundedRun, is_program};
pub use program::{Bounds, Program, ProgramEnd, RunEnd};
pub use redactor::{Redactor, SecretKey};
pub(crate) use running::ProgramExit;
pub use running::Running;
#[doc(hidden)]
pub use running::{OutputItem, StopReason, Watch};
