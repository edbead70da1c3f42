//! Verifiers implemented in code: the [`Verifier`] trait, its input [`VerifierJob`], and the registry that maps ids to
//! verifiers. A verifier only observes: it reports findings, and rules decide. This module knows findings and tasks; it
//! knows no graph, no agent and no git.
//!
//! A custom verifier is a type, a name in the registry, and an entry with `mode: code` in `verifiers.yml`:
//!
//! ```
//! # use superstep_verify as superstep;
//! use superstep::findings::{Finding, FindingKind, VerifierReport};
//! use superstep::verifiers::{Verifier, VerifierError, VerifierJob, VerifierRegistry};
//!
//! /// Finds files that are longer than they should be.
//! struct Long {
//!     most: usize,
//! }
//!
//! impl Verifier for Long {
//!     async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
//!         let mut report = VerifierReport::pass();
//!         for file in &job.changes.files {
//!             let Ok(text) = std::fs::read_to_string(job.folder.join(file)) else { continue };
//!             let lines = text.lines().count();
//!             if lines > self.most {
//!                 let kind = FindingKind::Other("LONG_FILE".into());
//!                 report.push(Finding::warning(kind, format!("{file} has {lines} lines")).at(file, 1));
//!             }
//!         }
//!         Ok(report)
//!     }
//! }
//!
//! let verifiers = VerifierRegistry::built_in().with("long-files", Long { most: 400 });
//! assert!(verifiers.get("long-files").is_some());
//! ```

mod job;
mod verifier;

pub use job::{Changes, KnownKey, Neighbour, VerifierJob, VerifierTask};
pub use verifier::{DynVerifier, Verifier, VerifierError, VerifierRegistry};
