//! Decisions: the input of the rules, their decision, and the next step.

use std::sync::Arc;

use superstep_base::time::{millis, rfc3339};

use super::state::{Attempt, CodeTaskState, CodeTaskStateUpdate as Update, Obstacle, OutputChange, TaskOutcome};
use super::step::AfterDecide;
use superstep::decide::{
    AttemptDecision, AttemptHistory, AttemptId, AttemptKind, Case, DecisionKind, DecisionRecord, Override, Rules,
};
use superstep::findings::{Counts, Evidence, Finding, FindingKind, Fingerprint, Identity, Normalizer, VerifierOutput};
use superstep::graph::{Ctx, NodeError};
use superstep::nodes::Agents;
use superstep::spec::AGENT;
use superstep::workspace::TreeId;

/// The name of the rule for an exhausted budget.
const BUDGET: &str = "budget";

/// Decides on the current attempt; one that was already decided on becomes a new attempt.
pub(super) async fn decide<C: Agents>(state: Arc<CodeTaskState>, ctx: Ctx<C>) -> Result<Update, NodeError> {
    let at = rfc3339(millis(ctx.now().await?));
    Ok(update(&state, &ctx.context().rules(), &at))
}

fn update(state: &CodeTaskState, rules: &Rules, at: &str) -> Update {
    let mut attempt = with_number(state);
    let mut outputs = in_order(state);
    attempt.is_spent |= state.obstacle == Some(Obstacle::Spent);
    outputs.retain(|output| output.verifier != AGENT);
    outputs.extend(of_agent(&attempt));
    let mut history = history(state);
    history.record(as_past(&attempt), &mut outputs, &state.settings.run.verifiers);
    let past = history.last().cloned();
    let over = state.pending.as_ref().map(|over| with_note(over, &attempt, state, at));
    let (decision, granted) = apply_rules(state, rules, &attempt, (&outputs, &history), over.as_ref());
    let about = AttemptId {
        task_id: state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default(),
        run_id: state.start.as_ref().map(|start| start.run.clone()).unwrap_or_default(),
        attempt: attempt.number,
        depth: state.place.depth,
    };
    let over = over.filter(|_| decision.rule == "override");
    let mut record = DecisionRecord::new(about, decision, over.as_ref(), Counts::of(&outputs), at);
    record.tree = tree(&attempt).map(ToString::to_string);
    CodeTaskState::update()
        .attempt(Attempt { past, ..attempt })
        .outputs(OutputChange::Set(outputs))
        .decision(Some(record))
        .pending(None)
        .granted(granted)
}

/// Returns the attempt with a unique number.
fn with_number(state: &CodeTaskState) -> Attempt {
    let attempt = state.attempt.clone();
    let is_decided = state.attempts.last().is_some_and(|line| line.past.number >= attempt.number);
    if !is_decided {
        return attempt;
    }
    Attempt { number: state.number(), kind: AttemptKind::Override, ..attempt }
}

fn tree(attempt: &Attempt) -> Option<&TreeId> {
    attempt.files.as_ref().map(|files| &files.tree)
}

fn as_past(attempt: &Attempt) -> superstep::decide::PastAttempt {
    superstep::decide::PastAttempt::new(attempt.number, attempt.kind, tree(attempt).map(ToString::to_string))
}

fn history(state: &CodeTaskState) -> AttemptHistory {
    let base = state.start.as_ref().map(|start| start.base.tree.to_string());
    AttemptHistory::with(base, state.attempts.iter().map(|line| line.past.clone()))
}

/// Returns the reports in the order of the configuration, independent of execution order.
fn in_order(state: &CodeTaskState) -> Vec<VerifierOutput> {
    let entries = &state.settings.run.verifiers.entries;
    let mut outputs = state.outputs.clone();
    let place = |output: &VerifierOutput| entries.iter().position(|entry| entry.id == output.verifier);
    outputs.sort_by_key(|output| place(output).unwrap_or(usize::MAX));
    outputs
}

/// Returns the decision, and the remaining granted attempts.
fn apply_rules(
    state: &CodeTaskState,
    rules: &Rules,
    attempt: &Attempt,
    (outputs, history): (&[VerifierOutput], &AttemptHistory),
    over: Option<&Override>,
) -> (AttemptDecision, u32) {
    if let Some(problem) = attempt.unsplit.as_ref().filter(|_| over.is_none()) {
        return (AttemptDecision::split_rejected(problem), state.granted);
    }
    let (verifiers, policy) = (&state.settings.run.verifiers, state.policy());
    let case = Case {
        depth: state.place.depth,
        granted: state.granted,
        spent: attempt.is_spent.then_some("its agents may use no more"),
        over,
        ..Case::new(outputs, history, verifiers, &policy)
    };
    let decision = rules.decide(&case);
    let is_granted = decision.kind == DecisionKind::Retry && decision.rule == "granted";
    let granted = if is_granted { state.granted.saturating_sub(1) } else { state.granted };
    (decision, granted)
}

/// Returns the override with its time, and the decision on the same files that it replaces, if any.
fn with_note(over: &Override, attempt: &Attempt, state: &CodeTaskState, at: &str) -> Override {
    let mut over = over.clone();
    if over.note.at.is_empty() {
        over.note.at = at.to_owned();
    }
    let before = state.decision.as_ref().filter(|_| attempt.kind == AttemptKind::Override);
    over.note.was = over.note.was.or_else(|| before.map(|made| made.decision.kind));
    over
}

/// Returns a report on the agent itself, and on secrets in its files.
fn of_agent(attempt: &Attempt) -> Option<VerifierOutput> {
    let leaked = attempt.files.iter().flat_map(|files| &files.leaked);
    let problem = attempt.problem.iter().map(|text| Finding::error(FindingKind::VerifierFail, text.clone()));
    let findings: Vec<Finding> =
        leaked.map(|text| Finding::error(FindingKind::Secret, text.clone())).chain(problem).collect();
    let severity = findings.iter().map(|finding| finding.severity).max()?;
    Some(VerifierOutput {
        verifier: AGENT.into(),
        stakeholder: "architecture".into(),
        stage: "build".into(),
        severity,
        verdict: None,
        findings: findings.into_iter().map(with_fingerprint).collect(),
        evidence: Evidence::default(),
        required: false,
        ms: 0,
        skipped: None,
    })
}

/// Sets the fingerprint of a finding, from its kind and message.
fn with_fingerprint(finding: Finding) -> Finding {
    let identity = Identity { verifier: AGENT, kind: &finding.kind, file: None, code: None, text: &finding.message };
    let fingerprint = Fingerprint::of(&identity, &Normalizer::default());
    Finding { fingerprint, ..finding }
}

/// Calls `then` with the case of the current attempt.
pub(super) fn with_case<T>(state: &CodeTaskState, then: impl FnOnce(&Case<'_>) -> T) -> T {
    let (history, policy) = (history(state), state.policy());
    let case = Case::new(&state.outputs, &history, &state.settings.run.verifiers, &policy);
    then(&Case { depth: state.place.depth, ..case })
}

/// Returns the recorded form of the current attempt for the rules.
pub(super) fn past(state: &CodeTaskState) -> superstep::decide::PastAttempt {
    state.attempt.past.clone().unwrap_or_else(|| as_past(&state.attempt))
}

/// Returns the outcome of the task after its last decision; `None` if it continues or a person decides.
pub(super) fn outcome(state: &CodeTaskState) -> Option<TaskOutcome> {
    let made = state.decision.as_ref()?;
    let is_final = !state.is_first() || made.decision.rule == "override";
    match made.decision.kind {
        DecisionKind::Done => Some(TaskOutcome::Done),
        DecisionKind::Fail if is_final => Some(TaskOutcome::Failed),
        DecisionKind::GiveUp if !state.is_first() => Some(TaskOutcome::GaveUp),
        DecisionKind::Fail | DecisionKind::GiveUp | DecisionKind::Ask | DecisionKind::Retry | DecisionKind::Split => {
            None
        }
    }
}

/// Returns the next step after the last decision.
pub(super) fn route(state: &CodeTaskState) -> AfterDecide {
    let kind = state.decision.as_ref().map_or(DecisionKind::GiveUp, |made| made.decision.kind);
    match kind {
        _ if state.outcome.is_some() => AfterDecide::Finish,
        DecisionKind::Retry => AfterDecide::Execute,
        DecisionKind::Split => AfterDecide::MakeChildren,
        DecisionKind::Done => AfterDecide::Finish,
        DecisionKind::GiveUp | DecisionKind::Fail | DecisionKind::Ask => AfterDecide::Ask,
    }
}

/// Returns a person's decision as an override; `None` if the decision is not available to a person.
pub(super) fn person_override(decision: &str, why: &str, by: Option<String>) -> Option<Override> {
    Override::new(decision, why, &by.unwrap_or_else(|| "a person".into()), "").ok()
}

/// True if a decision is about the budget of the run.
pub(super) fn is_about_budget(made: &DecisionRecord) -> bool {
    made.decision.rule == BUDGET
}

/// True if a verifier leaves the decision to a person.
pub(super) fn is_left_to_a_person(made: &DecisionRecord) -> bool {
    made.decision.kind == DecisionKind::Ask
}
