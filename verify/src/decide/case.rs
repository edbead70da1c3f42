//! The input of a decision.

use super::decision::Override;
use super::history::AttemptHistory;
use super::weight;
use crate::findings::{Finding, FindingKind, Fingerprint, Severity, VerifierOutput};
use crate::task::{OnFail, Policy, Verifiers};

/// An attempt to decide on: the complete input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The outputs of the attempt, after [`AttemptHistory::record`].
    pub outputs: &'a [VerifierOutput],
    /// The attempts of the task, this one last.
    pub history: &'a AttemptHistory,
    /// The verifiers of the task.
    pub verifiers: &'a Verifiers,
    /// The limits of the task.
    pub policy: &'a Policy,
    /// The depth of the task below the root task, which has depth 0.
    pub depth: u32,
    /// The number of attempts left of those granted by a person, regardless of the policy.
    pub granted: u32,
    /// A description of the exhausted part of the budget; `None` if there is budget left.
    pub spent: Option<&'a str>,
    /// The decision of a person.
    pub over: Option<&'a Override>,
}

/// The reason why a task is not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitRefusal {
    /// The task is at the maximum depth.
    #[error("depth {depth} is the deepest: max_depth is {max_depth}")]
    Depth {
        /// The depth of the task.
        depth: u32,
        /// The limit.
        max_depth: u32,
    },
    /// The task was split before.
    #[error("a task is split at most once, and this one was")]
    SplitBefore,
    /// No error can be removed by a smaller task.
    #[error("there is no error that a smaller task could remove")]
    NothingToSplit,
}

impl<'a> Case<'a> {
    /// Returns a case at depth 0, without an override, with budget left.
    #[must_use]
    pub fn new(
        outputs: &'a [VerifierOutput],
        history: &'a AttemptHistory,
        verifiers: &'a Verifiers,
        policy: &'a Policy,
    ) -> Self {
        Self { outputs, history, verifiers, policy, depth: 0, granted: 0, spent: None, over: None }
    }

    /// Returns the outputs that count as errors.
    #[must_use]
    pub fn failed(&self) -> Vec<&'a VerifierOutput> {
        weight::failed_outputs(self.outputs, self.verifiers).collect()
    }

    /// Returns the outputs that count as errors and whose verifier has this `on_fail`.
    #[must_use]
    pub fn failed_with(&self, on_fail: OnFail) -> Vec<&'a VerifierOutput> {
        let says = |output: &&VerifierOutput| {
            self.verifiers.get(&output.verifier).is_some_and(|entry| entry.gate.on_fail == on_fail)
        };
        weight::failed_outputs(self.outputs, self.verifiers).filter(says).collect()
    }

    /// Returns the outputs that count as warnings and whose verifier retries on warnings.
    #[must_use]
    pub fn warned_outputs(&self) -> Vec<&'a VerifierOutput> {
        let retries = |output: &&VerifierOutput| {
            let entry = self.verifiers.get(&output.verifier);
            entry.and_then(|entry| entry.gate.warn_triggers_retry).unwrap_or(self.policy.warn_triggers_retry)
        };
        let warns = |output: &&VerifierOutput| weight::severity(output, self.verifiers) == Severity::Warning;
        self.outputs.iter().filter(warns).filter(retries).collect()
    }

    /// Returns the errors that occur in `split_on_repeat_errors` attempts or more.
    #[must_use]
    pub fn repeated_errors(&self) -> Vec<Fingerprint> {
        self.history.repeated_errors(self.policy.split_on_repeat_errors)
    }

    /// Returns the findings with a fingerprint in `errors` that smaller tasks could remove, each fingerprint once:
    /// those about the code, not about secrets, crashed verifiers or lack of progress.
    #[must_use]
    pub fn actionable(&self, errors: &[Fingerprint]) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        for finding in weight::error_findings(self.outputs, self.verifiers) {
            let is_new = found.iter().all(|other| other.fingerprint != finding.fingerprint);
            let is_work =
                !matches!(finding.kind, FindingKind::VerifierFail | FindingKind::NoProgress | FindingKind::Secret);
            if is_new && is_work && errors.contains(&finding.fingerprint) {
                found.push(finding.clone());
            }
        }
        found
    }

    /// Returns the errors that a split must cover: the actionable repeated ones, or, if a person or a custom rule
    /// splits without any, all actionable errors of this attempt.
    #[must_use]
    pub fn to_cover(&self) -> Vec<Fingerprint> {
        let repeated = fingerprints(self.actionable(&self.repeated_errors()));
        let errors = || self.history.last().map(|attempt| attempt.errors.iter().cloned().collect::<Vec<_>>());
        if repeated.is_empty() { fingerprints(self.actionable(&errors().unwrap_or_default())) } else { repeated }
    }

    /// Checks that the task can be split.
    ///
    /// # Errors
    ///
    /// `SplitRefusal` with the reason.
    pub fn can_split(&self) -> Result<(), SplitRefusal> {
        self.may_be_split()?;
        if self.to_cover().is_empty() { Err(SplitRefusal::NothingToSplit) } else { Ok(()) }
    }

    /// Checks that a person may split the task, regardless of the findings.
    ///
    /// # Errors
    ///
    /// `SplitRefusal` if it is at the maximum depth, or was split before.
    pub fn may_be_split(&self) -> Result<(), SplitRefusal> {
        let (depth, max_depth) = (self.depth, self.policy.max_depth);
        match () {
            () if depth >= max_depth => Err(SplitRefusal::Depth { depth, max_depth }),
            () if self.history.was_split() => Err(SplitRefusal::SplitBefore),
            () => Ok(()),
        }
    }

    /// Returns the reasons why the task cannot be done: required verifiers that failed, were skipped or did not run.
    #[must_use]
    pub fn unverified_reasons(&self) -> Vec<String> {
        weight::unverified_reasons(self.outputs, self.verifiers)
    }

    /// Returns the number of turns that the policy leaves to the agent; after a split, at most one.
    #[must_use]
    pub fn turns_left(&self) -> usize {
        match self.history.turns_since_split() {
            Some(turns) => 1_usize.saturating_sub(turns),
            None => (self.policy.max_attempts as usize).saturating_sub(self.history.turns()),
        }
    }
}

fn fingerprints(findings: Vec<Finding>) -> Vec<Fingerprint> {
    findings.into_iter().map(|finding| finding.fingerprint).collect()
}
