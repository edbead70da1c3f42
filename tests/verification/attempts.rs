//! Outputs of verifiers, and sequences of attempts with their decisions.

use superstep::decide::{AttemptDecision, AttemptHistory, AttemptKind, Case, DecisionKind, PastAttempt, Rules};
use superstep::findings::{Evidence, Finding, FindingKind, Fingerprint, Severity, SkipReason, Verdict, VerifierOutput};
use superstep::spec::{Flags, RunSettings, TaskSpec, VerifierConfig};

/// A finding whose fingerprint is made from its message.
pub(crate) fn finding(severity: Severity, message: &str) -> Finding {
    let fingerprint = Fingerprint::from(message.repeat(32).chars().take(32).collect::<String>());
    Finding { fingerprint, ..Finding::new(FindingKind::BuildFail, severity, message) }
}

/// An output of a verifier with the highest severity of its findings.
pub(crate) fn output(verifier: &str, findings: Vec<Finding>) -> VerifierOutput {
    let severity = findings.iter().map(|finding| finding.severity).max().unwrap_or_default();
    VerifierOutput {
        verifier: verifier.to_owned(),
        stakeholder: "architecture".to_owned(),
        stage: "build".to_owned(),
        severity,
        verdict: None,
        findings,
        evidence: Evidence::default(),
        required: ["build", "secrets", "alignment"].contains(&verifier),
        ms: 1,
        skipped: None,
    }
}

/// The outputs of all built-in verifiers, changed: `build=E:a` adds an error `a`, `W` a warning, `I` an info,
/// `build=skipped`, `build=fail` sets a verdict, `build=missing` removes the output. Changes are separated by spaces.
pub(crate) fn outputs(changes: &str) -> Vec<VerifierOutput> {
    let mut outputs = ["build", "secrets", "test", "alignment", "bigpicture"].map(|id| output(id, vec![])).to_vec();
    for (id, change) in changes.split_whitespace().map(|word| word.split_once('=').unwrap()) {
        if outputs.iter().all(|output| output.verifier != id) {
            outputs.push(output(id, vec![]));
        }
        let at = outputs.iter().position(|output| output.verifier == id).unwrap();
        match change.split_once(':') {
            Some((severity, message)) => add_finding(&mut outputs[at], severity, message),
            None if change == "skipped" => outputs[at].skipped = Some(SkipReason::Flag),
            None if change == "fail" => outputs[at].verdict = Some(Verdict::Fail),
            None => drop(outputs.remove(at)),
        }
    }
    outputs
}

fn add_finding(output: &mut VerifierOutput, severity: &str, message: &str) {
    let severity = match severity {
        "E" => Severity::Error,
        "W" => Severity::Warning,
        _ => Severity::Info,
    };
    output.findings.push(finding(severity, message));
    output.severity = output.severity.max(severity);
}

/// The settings of a task with this `verifiers.yml` and this front matter.
pub(crate) fn settings(yml: &str, front: &str) -> RunSettings {
    let config = VerifierConfig::parse(yml, "verifiers.yml").unwrap();
    let task = TaskSpec::parse(&format!("---\nid: a\ntitle: A\n{front}\n---\n"), "task.md").unwrap();
    RunSettings::merge(&config, &task, "task.md", &Flags::default()).unwrap()
}

/// One attempt: the outputs of its verifiers and the tree they saw.
pub(crate) struct Step {
    pub(crate) says: String,
    pub(crate) tree: String,
    pub(crate) kind: AttemptKind,
}

/// The attempts, each with a tree of its own; one after a `|` is an attempt of children.
pub(crate) fn steps(attempts: &[&str]) -> Vec<Step> {
    let step = |(at, says): (usize, &&str)| Step {
        says: says.trim_start_matches('|').to_owned(),
        tree: format!("tree {at}"),
        kind: if says.starts_with('|') { AttemptKind::Children } else { AttemptKind::Turn },
    };
    attempts.iter().enumerate().map(step).collect()
}

/// Returns the decision on each attempt, after a change of its case.
pub(crate) fn decisions(
    settings: &RunSettings,
    rules: &Rules,
    steps: &[Step],
    change: impl for<'c> Fn(Case<'c>) -> Case<'c>,
) -> Vec<AttemptDecision> {
    let mut history = AttemptHistory::of(Some("base".to_owned()));
    let mut decide = |(at, step): (usize, &Step)| {
        let mut outputs = outputs(&step.says);
        let attempt = PastAttempt::new(at as u32 + 1, step.kind, Some(step.tree.clone()));
        history.record(attempt, &mut outputs, &settings.verifiers);
        rules.decide(&change(Case::new(&outputs, &history, &settings.verifiers, &settings.policy)))
    };
    steps.iter().enumerate().map(&mut decide).collect()
}

/// Formats the decisions with their rules: `RETRY/retry`.
pub(crate) fn sequence(decisions: &[AttemptDecision]) -> String {
    decisions.iter().map(|decision| format!("{}/{}", decision.kind, decision.rule)).collect::<Vec<_>>().join(" ")
}

/// Returns the decisions of the standard rules.
pub(crate) fn decided(settings: &RunSettings, attempts: &[&str]) -> String {
    sequence(&decisions(settings, &Rules::standard(), &steps(attempts), |case| case))
}

/// Returns the last decision of the standard rules.
pub(crate) fn last(settings: &RunSettings, attempts: &[&str]) -> AttemptDecision {
    decisions(settings, &Rules::standard(), &steps(attempts), |case| case).pop().unwrap()
}

pub(crate) const KINDS: [DecisionKind; 6] = [
    DecisionKind::Done,
    DecisionKind::Retry,
    DecisionKind::Split,
    DecisionKind::GiveUp,
    DecisionKind::Fail,
    DecisionKind::Ask,
];
