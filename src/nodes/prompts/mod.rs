//! Prompts for agents: template files with named slots, and the functions that fill them from plain data. A prompt
//! knows its template and that file's hash, which the journal records with each request. Pure; they know no driver and
//! no graph.
//!
//! | file | what it knows |
//! |---|---|
//! | `contents` | texts that are stored once |
//! | `prompt` | a text for any agent: template, slots, contents |
//! | `brief` | the plain data that prompts are made from |
//! | `roles` | the prompts of each role |
//!
//! Small because it only lists the folder.

mod brief;
mod contents;
mod prompt;
mod roles;

pub use brief::{Brief, BriefPhase, BriefTask, Feedback, PromptDiff, ReviewedWork, Section};
pub use contents::{Content, ContentError, Contents};
pub use prompt::Prompt;
pub use roles::SplitInput;

pub(super) use prompt::Parts;
pub(super) use roles::Verification;

#[cfg(test)]
mod tests;
