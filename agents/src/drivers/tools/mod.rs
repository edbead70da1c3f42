//! What an agent behind the `api` driver can do in its folder: read, list, grep, write, edit, shell. Knows files and
//! commands; must not know models, sessions or HTTP.
//!
//! The rules: a path is names beneath the root, opened folder by folder without following a symbolic link; `.git` and
//! `.superstep` are no names of the agent's; sizes are capped; whatever is refused is an answer that the model can read.

mod answer;
mod arguments;
mod blocking;
mod edit;
mod folder;
mod grep;
mod limits;
mod path;
mod read;
mod refused;
mod root;
mod shell;
mod spec;
mod text;
mod toolbox;

pub use answer::ToolAnswer;
pub use limits::ToolLimits;
pub(super) use path::Inside;
pub use shell::UNCONFINED;
pub use spec::ToolSpec;
pub(super) use text::beginning;
pub use toolbox::Toolbox;
