//! The verifier `secrets`: finds keys and tokens in added lines.

use super::job::{KnownKey, VerifierJob};
use super::verifier::{Verifier, VerifierError};
use crate::findings::{Finding, FindingKind, VerifierReport, secrets_in};

/// The id in the configuration.
pub(super) const ID: &str = "secrets";

/// The minimum diff limit of this verifier in bytes, regardless of the settings.
const DIFF: usize = 64 * 1024 * 1024;

/// Finds keys and tokens in the lines that an attempt adds, including the keys of this process.
pub(super) struct Secrets;

#[diagnostic::do_not_recommend]
impl Verifier for Secrets {
    fn diff_limit(&self, set: usize) -> usize {
        set.max(DIFF)
    }

    async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        let known = job.changes.keys.iter().map(known);
        let mut report = VerifierReport::of(known.chain(secrets_in(&job.changes.diff, ID)));
        if job.changes.is_cut {
            let read = job.changes.diff.len();
            report.push(Finding::warning(FindingKind::Secret, format!("only {read} bytes of the diff were searched")));
        }
        Ok(report)
    }
}

fn known(key: &KnownKey) -> Finding {
    let KnownKey { file, line, variable } = key;
    Finding::error(FindingKind::Secret, format!("the file holds the value of `{variable}`")).at(file, *line)
}
