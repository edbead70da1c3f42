//! Prompts for agents: template files with named slots, and the functions that fill them from plain data. A prompt
//! knows its template and that file's hash, which the journal records with each request. Pure; they know no driver and
//! no graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `fence`, `parts`, `template` | text with slots and contents |
//! | `section`, `diff`, `brief`, `feedback`, `work` | the plain data that prompts are made from |
//! | `prompt` | a text for any agent |
//! | `plans`, `phases`, `code_tasks`, `verifiers` | the prompts of each kind of work |

mod brief;
mod code_tasks;
mod diff;
mod feedback;
mod fence;
mod parts;
mod phases;
mod plans;
mod prompt;
mod section;
mod template;
pub(super) mod verifiers;
mod work;

pub use brief::{Brief, BriefPhase, BriefTask};
pub use code_tasks::ToSplit;
pub use diff::Diff;
pub use feedback::Feedback;
pub(super) use parts::Parts;
pub use prompt::Prompt;
pub use section::Section;
pub use work::Work;

#[cfg(test)]
mod tests;
