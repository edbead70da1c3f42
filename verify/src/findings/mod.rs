//! Reports of verifiers: a [`Finding`] with its [`Evidence`] and [`Fingerprint`], and a verifier's whole
//! [`VerifierOutput`]. [`ReportReader`] reads a command's output, [`secrets_in`] a diff; [`clusters`] groups findings.
//!
//! Pure data and functions. This module knows no task, no verifier and no decision; it runs nothing and reads no files.

mod cluster;
mod diagnostics;
mod evidence;
mod finding;
mod fingerprint;
mod kind;
mod normalizer;
mod output;
mod report;
mod secrets;
mod severity;
mod shell;
mod text;

pub use cluster::{Cluster, clusters, clusters_at_most};
pub use evidence::{Evidence, Lines, LinesError};
pub use finding::Finding;
pub use fingerprint::{Fingerprint, Identity};
pub use kind::FindingKind;
pub use normalizer::Normalizer;
pub use output::{Counts, Skipped, VerifierOutput};
pub use report::VerifierReport;
pub use secrets::secrets_in;
pub use severity::{Severity, Verdict};
pub use shell::{Exit, ReportReader, ShellOutput};
