//! Findings from risks, suggestions and findings of models. Pure.

use super::answers::{Findings, ModelFinding, Relation, Risk, Risks, Shown, Style, Suggestion};
use super::job::RunVerifier;
use crate::findings::{Evidence, Finding, FindingKind, Severity};

/// Returns the risks as warnings; those for unknown tasks as infos.
pub(super) fn risks(job: &RunVerifier, given: &Risks) -> Vec<Finding> {
    given.risks.iter().map(|risk| of_risk(job, risk)).collect()
}

fn of_risk(job: &RunVerifier, risk: &Risk) -> Finding {
    let Risk { relation, id, claim, evidence } = risk;
    let mut others = match relation {
        Relation::Parent => job.task.parent.as_slice(),
        Relation::Next => &job.task.next,
    }
    .iter();
    let severity = if others.any(|other| other.id == *id) { Severity::Warning } else { Severity::Info };
    let message = format!("{relation} task {id}: {claim}");
    let finding = placed(Finding::new(FindingKind::ContextRisk, severity, message), evidence.as_ref());
    job.identified(finding, &format!("{relation} {id}"), claim)
}

/// Returns the suggestions as warnings and infos.
pub(super) fn suggestions(given: &Style) -> Vec<Finding> {
    let of = |suggestion: &Suggestion| {
        let severity = suggestion.severity.min(Severity::Warning);
        placed(Finding::new(FindingKind::Style, severity, &suggestion.text), suggestion.evidence.as_ref())
    };
    given.suggestions.iter().map(of).collect()
}

/// Returns the findings of a verifier with its own prompt.
pub(super) fn own(given: &Findings) -> Vec<Finding> {
    let of = |finding: &ModelFinding| {
        let kind = FindingKind::from(finding.kind.clone().unwrap_or_else(|| "REVIEW".into()));
        placed(Finding::new(kind, finding.severity, &finding.message), finding.evidence.as_ref())
    };
    given.findings.iter().map(of).collect()
}

fn placed(finding: Finding, shown: Option<&Shown>) -> Finding {
    Finding { evidence: shown.map(evidence).unwrap_or_default(), ..finding }
}

/// Converts a place that a model named to evidence; unreadable lines are left out.
pub(super) fn evidence(shown: &Shown) -> Evidence {
    let Shown { file, lines, quote } = shown.clone();
    Evidence { file, lines: lines.and_then(|lines| lines.parse().ok()), log: quote, command: None }
}
