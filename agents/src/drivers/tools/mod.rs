//! Tools of an agent behind the `api` driver, in its folder: read, list, grep, write, edit, shell. Knows files and
//! commands; must not know models, sessions or HTTP.
//!
//! The rules: a path is a list of names beneath the root, opened folder by folder without following a symbolic link;
//! `.git` and `.superstep` are reserved; sizes are limited; a refusal is a result that the model can read.

mod answer;
mod arguments;
mod blocking;
mod edit;
mod folder;
mod grep;
mod limits;
mod path;
mod read;
mod records;
mod refusal;
mod root;
mod shell;
mod spec;
mod text;
mod toolbox;

pub use answer::ToolAnswer;
pub use limits::ToolLimits;
pub(super) use path::RelativePath;
pub(super) use records::{Records, refusal};
pub use records::{mark_records, marked_records};
pub use shell::UNCONFINED;
pub use spec::ToolSpec;
pub(super) use text::beginning;
pub use toolbox::Toolbox;
