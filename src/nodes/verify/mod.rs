//! Checks of work: by the commands of a plan, and by one verifier on one attempt, which is a command, a model or code. The
//! side effects of a verifier are effects named `verifier/ID/...`; its changes are undone. Knows how they run; must not know
//! which ones, in which order, and what follows from their findings.
//!
//! | file | what it knows |
//! |---|---|
//! | `checks` | commands in a work tree, the node for those of a plan |
//! | `job` | a verifier to run, its result, its output |
//! | `programs`, `model` | the kinds of verifiers |
//! | `answers` | results of a model, and their findings |
//! | `run` | a whole run, and a dry run |
//!
//! Small because it only lists the folder.

mod answers;
mod checks;
mod job;
mod model;
mod programs;
mod run;

pub use checks::{Check, VerifyJob, VerifyResult, verify};
pub(super) use checks::{Checks, run_verify_job};
pub use job::{RunVerifier, VerifierHost, VerifierRun};
pub use run::{PlannedVerifier, plan_verifier, run_verifier};
