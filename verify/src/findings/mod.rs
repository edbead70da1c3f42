//! Reports of verifiers: a [`Finding`] with its [`Evidence`] and [`Fingerprint`], and a verifier's whole
//! [`VerifierOutput`]. [`ReportReader`] reads a command's output, [`secrets_in`] a diff; [`clusters`] groups findings.
//!
//! Pure data and functions. This module knows no task, no verifier and no decision; it runs nothing and reads no files.
//!
//! | file | what it knows |
//! |---|---|
//! | `finding`, `evidence` | a finding: kind, severity, identity; its place and excerpt |
//! | `report` | a verifier's report and whole output |
//! | `cluster` | findings with a likely common cause |
//! | `normalizer`, `path`, `volatile` | text without what changes from run to run |
//! | `secrets`, `diff` | keys and tokens in the lines that a diff adds |
//! | `shell_report`, `json_report`, `text` | the report of a command: its output read, or written by itself |
//! | `diagnostics` | the output of each family of tools |
//!
//! Small because it only lists the folder.

mod cluster;
mod diagnostics;
mod diff;
mod evidence;
mod finding;
mod json_report;
mod normalizer;
mod path;
mod report;
mod secrets;
mod shell_report;
mod text;
mod volatile;

#[doc(hidden)]
pub use cluster::{Cluster, clusters, clusters_at_most};
pub use evidence::{Evidence, Lines, LinesError};
pub use finding::{Finding, FindingKind, Fingerprint, Identity, Severity};
pub use normalizer::Normalizer;
pub(crate) use report::highest_severity;
pub use report::{Counts, SkipReason, Verdict, VerifierOutput, VerifierReport};
#[doc(hidden)]
pub use secrets::secrets_in;
pub use shell_report::{ReportReader, ShellExit, ShellOutput};
