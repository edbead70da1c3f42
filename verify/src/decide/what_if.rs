//! Re-decides recorded attempts with other limits, severities or skipped verifiers, from the records of a run alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superstep_base::near::{did_you_mean, meant_or_all, quote_list};

use super::case::Case;
use super::decision::{AttemptDecision, DecisionKind, DecisionRecord, Override, SPLIT};
use super::history::{AttemptHistory, AttemptKind, PastAttempt};
use super::rules::Rules;
use super::standard::{BUDGET, GRANTED};
use crate::findings::{Severity, SkipReason, Verdict, VerifierOutput};
use crate::task::{PROGRESS, Policy, Requirement, RunSettings, VerifierEntry, choice_of, flag, sha256};

/// A recorded attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDecision {
    /// Its `verifier_outputs.json`.
    pub outputs: Vec<VerifierOutput>,
    /// Its `decision.json`.
    pub record: DecisionRecord,
}

impl RecordedDecision {
    /// Returns a digest by which a changed record is detected.
    pub fn digest(&self) -> String {
        sha256(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// The recorded and the hypothetical decision on an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WhatIfDecision {
    /// The number of the attempt.
    pub attempt: u32,
    /// The recorded decision.
    pub recorded: DecisionKind,
    /// The hypothetical decision.
    pub now: DecisionKind,
    /// The rule of the hypothetical decision.
    pub rule: String,
}

/// Changes to the limits, severities and verifiers of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingChanges {
    settings: RunSettings,
    severities: BTreeMap<String, Severity>,
}

/// The error for invalid changes. Displays as one line for each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
#[non_exhaustive]
pub struct ChangesError {
    /// Every problem, in the order of the changes.
    pub problems: Vec<String>,
}

/// The keys that are followed by a dot and the id of a verifier.
const OF_VERIFIER: [&str; 4] = ["severity", "required", "warn_triggers_retry", "on_fail"];

/// The other keys, apart from those of a policy.
const OTHERS: [&str; 2] = ["skip", "strict"];

impl SettingChanges {
    /// Parses changes to a run's settings, each `KEY=VALUE`: the keys of a [`Policy`], `strict`, `skip=ID,..`, and for
    /// a verifier `severity.ID=error|warning|info`, `required.ID`, `warn_triggers_retry.ID`, `on_fail.ID`. With
    /// `severity.ID=warning` its errors count as warnings, with `error` its warnings count as errors.
    ///
    /// # Errors
    ///
    /// [`ChangesError`] with every problem at once: unknown keys, ids and values.
    pub fn parse<C: AsRef<str>>(changes: &[C], settings: &RunSettings) -> Result<Self, ChangesError> {
        let mut made = Self { settings: settings.clone(), severities: BTreeMap::new() };
        let problems: Vec<String> = changes.iter().filter_map(|change| made.set(change.as_ref()).err()).collect();
        if problems.is_empty() { Ok(made) } else { Err(ChangesError { problems }) }
    }

    fn set(&mut self, change: &str) -> Result<(), String> {
        let (key, value) = change.split_once('=').ok_or_else(|| format!("`{change}` is not KEY=VALUE"))?;
        let set = match key.split_once('.') {
            Some((part, id)) if OF_VERIFIER.contains(&part) => self.set_verifier(part, id, value),
            None if key == "skip" => value.split(',').try_for_each(|id| self.skip(id.trim())),
            None if key == "strict" => flag(value).map(|strict| self.settings.verifiers.strict = strict),
            None if Policy::keys().contains(&key) => {
                return self.settings.policy.set(key, value).map_err(|error| error.to_string());
            }
            _ => Err(unknown_key(key)),
        };
        set.map_err(|problem| format!("{key}: {problem}"))
    }

    fn skip(&mut self, id: &str) -> Result<(), String> {
        self.entry(id).map(|entry| entry.skipped = true)
    }

    fn set_verifier(&mut self, part: &str, id: &str, value: &str) -> Result<(), String> {
        let entry = self.entry(id)?;
        match part {
            "required" => entry.gate.required = flag(value)?.into(),
            "warn_triggers_retry" => entry.gate.warn_triggers_retry = Some(flag(value)?),
            "on_fail" => entry.gate.on_fail = choice_of(value)?,
            _ => drop(self.severities.insert(id.to_owned(), choice_of(value)?)),
        }
        Ok(())
    }

    fn entry(&mut self, id: &str) -> Result<&mut VerifierEntry, String> {
        let ids: Vec<String> = self.settings.verifiers.ids().into_iter().map(str::to_owned).collect();
        let entries = &mut self.settings.verifiers.entries;
        let found = entries.iter_mut().find(|entry| entry.id == id);
        found.ok_or_else(|| format!("no verifier has the id `{id}`{}", meant_or_all(id, &ids)))
    }

    /// Returns the outputs with the changes applied.
    fn outputs(&self, recorded: &[VerifierOutput]) -> Vec<VerifierOutput> {
        recorded.iter().map(|output| self.output(output.clone())).collect()
    }

    fn output(&self, mut output: VerifierOutput) -> VerifierOutput {
        if self.settings.verifiers.get(&output.verifier).is_some_and(|entry| entry.skipped) {
            output.skipped = Some(SkipReason::Flag);
        }
        if let Some(entry) = self.settings.verifiers.get(&output.verifier) {
            output.required &= entry.gate.required != Requirement::No;
        }
        if let Some(severity) = self.severities.get(&output.verifier) {
            weigh_as(&mut output, *severity);
        }
        output
    }
}

/// Lowers every severity to at most `severity`; with `error`, raises warnings to errors.
fn weigh_as(output: &mut VerifierOutput, severity: Severity) {
    let weighed = |was: Severity| match (was, severity) {
        (Severity::Warning, Severity::Error) => Severity::Error,
        _ => was.min(severity),
    };
    output.severity = weighed(output.severity);
    output.findings.iter_mut().for_each(|finding| finding.severity = weighed(finding.severity));
    output.verdict = output.verdict.filter(|verdict| *verdict != Verdict::Fail || severity == Severity::Error);
}

/// Decides again on each attempt of a task, given the attempts before it as recorded. Overrides, an exhausted budget,
/// granted attempts and rejected splits are kept.
#[must_use]
pub fn what_if(run: &[RecordedDecision], changes: &SettingChanges, rules: &Rules) -> Vec<WhatIfDecision> {
    let mut history = AttemptHistory::of(base(run));
    let mut before = None;
    let mut found = Vec::new();
    for recorded in run {
        found.push(on_attempt(recorded, kind(recorded, before), &mut history, changes, rules));
        before = Some(&recorded.record);
    }
    found
}

fn on_attempt(
    recorded: &RecordedDecision,
    kind: AttemptKind,
    history: &mut AttemptHistory,
    changes: &SettingChanges,
    rules: &Rules,
) -> WhatIfDecision {
    let RecordedDecision { outputs, record } = recorded;
    let (decision, about) = (&record.decision, &record.about);
    let mut outputs = changes.outputs(outputs);
    history.record(
        PastAttempt::new(about.attempt, kind, record.tree.clone()),
        &mut outputs,
        &changes.settings.verifiers,
    );
    let over = record.over.clone().map(|note| Override { decision: decision.kind, note });
    let case = Case {
        depth: about.depth,
        granted: u32::from(decision.rule == GRANTED),
        spent: (decision.rule == BUDGET).then_some("as it was recorded"),
        over: over.as_ref(),
        ..Case::new(&outputs, history, &changes.settings.verifiers, &changes.settings.policy)
    };
    let now = match rules.decide(&case) {
        now if now.kind == DecisionKind::Split && decision.rule == SPLIT => {
            AttemptDecision::split_rejected("as it was recorded")
        }
        now => now,
    };
    WhatIfDecision { attempt: about.attempt, recorded: decision.kind, now: now.kind, rule: now.rule }
}

/// Returns the tree before the task, if the first attempt left it unchanged.
fn base(run: &[RecordedDecision]) -> Option<String> {
    let first = run.first()?;
    let is_same = first.outputs.iter().any(|output| output.verifier == PROGRESS);
    first.record.tree.clone().filter(|_| is_same)
}

/// Returns the author of an attempt: the children after a split, nobody if a person overrode a recorded decision or a
/// split was rejected, otherwise the agent.
fn kind(recorded: &RecordedDecision, before: Option<&DecisionRecord>) -> AttemptKind {
    let record = &recorded.record;
    match before.map(|record| record.decision.kind) {
        Some(_) if record.decision.rule == SPLIT => AttemptKind::Override,
        Some(DecisionKind::Split) => AttemptKind::Children,
        Some(DecisionKind::Done | DecisionKind::GiveUp | DecisionKind::Fail | DecisionKind::Ask)
            if record.over.is_some() =>
        {
            AttemptKind::Override
        }
        _ => AttemptKind::Turn,
    }
}

fn unknown_key(key: &str) -> String {
    let of_verifier = OF_VERIFIER.map(|part| format!("{part}.ID"));
    let keys: Vec<String> = Policy::keys().into_iter().chain(OTHERS).map(str::to_owned).chain(of_verifier).collect();
    let near = did_you_mean(key, &keys);
    let all = if near.is_empty() { format!("; there are {}", quote_list(&keys)) } else { near };
    format!("this key is unknown{all}")
}
