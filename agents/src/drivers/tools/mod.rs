//! Tools of an agent behind the `api` driver, in its folder: read, list, grep, write, edit, shell. Knows files and
//! commands; must not know models, sessions or HTTP.
//!
//! The rules: a path is a list of names beneath the root, opened folder by folder without following a symbolic link;
//! `.git` and `.superstep` are reserved; sizes are limited; a refusal is a result that the model can read.
//!
//! | file | what it knows |
//! |---|---|
//! | `toolbox`, `spec` | calls by name; names, schemas and arguments |
//! | `root` | the folder, paths beneath it, records |
//! | `read`, `edit`, `shell` | read, list and grep; write and edit; commands |
//! | `answer` | results, refusals, limits |
//!
//! Small because it only lists the folder.

mod answer;
mod edit;
mod read;
mod root;
mod shell;
mod spec;
mod toolbox;

#[doc(hidden)]
pub use answer::{ToolAnswer, ToolLimits};
pub(super) use root::{Records, RelativePath, refusal};
#[doc(hidden)]
pub use root::{mark_records, marked_records};
#[doc(hidden)]
pub use shell::UNCONFINED;
pub(crate) use spec::ToolSpec;
#[doc(hidden)]
pub use toolbox::Toolbox;
