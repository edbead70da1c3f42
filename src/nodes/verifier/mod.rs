//! One verifier on one attempt: by a command, a model or code. Its side effects are effects named `verifier/ID/...`;
//! its changes are undone. Knows how verifiers run; must not know which ones, in which order, and what follows from
//! their findings.
//!
//! | file | what it knows |
//! |---|---|
//! | `job`, `result` | a verifier to run, its result |
//! | `command`, `shell`, `code`, `model` | the kinds of verifiers |
//! | `answers`, `alignment`, `remarks`, `diff` | results of a model, its findings, its input |
//! | `undone`, `outcome` | the undoing of its changes; its output |
//! | `run`, `planned` | a whole run, and a dry run |

mod alignment;
mod answers;
mod code;
mod command;
mod diff;
mod job;
mod model;
mod outcome;
mod planned;
mod remarks;
mod result;
mod run;
mod shell;
mod undone;

pub use job::{RanVerifier, RunVerifier, VerifierHost};
pub use planned::{PlannedVerifier, planned_verifier};
pub use run::run_verifier;
