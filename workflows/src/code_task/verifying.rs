//! The verifiers of an attempt: the selection of the next ones, and the worker that runs one.

use std::sync::Arc;

use serde_json::json;

use super::done;
use super::state::{Attempt, CodeTaskState, CodeTaskStateUpdate as Update, Obstacle, OutputChange};
use super::step::CodeStep;
use crate::Role;
use superstep::decide::may_run;
use superstep::findings::{Evidence, Severity, SkipReason, VerifierOutput};
use superstep::graph::{Ctx, NodeError, Worker};
use superstep::nodes::__private::{plan_verifier, tampering_message};
use superstep::nodes::{Agents, RunVerifier, VerifierHost, VerifierRun, run_verifier};
use superstep::spec::{VerifierEntry, VerifierMode};
use superstep::verifiers::VerifierTask;

pub(super) const VERIFIER: Worker<CodeStep, RunVerifier> = Worker::new(CodeStep::Verifier);

/// Stores a verifier's tampering. The router after it selects the next verifiers from the state.
pub(super) async fn stage<C>(state: Arc<CodeTaskState>, _: Ctx<C>) -> Result<Update, NodeError> {
    Ok(match &state.obstacle {
        Some(Obstacle::Tampered(what)) => {
            CodeTaskState::update().attempt(Attempt { tampered: Some(what.clone()), ..state.attempt.clone() })
        }
        Some(Obstacle::Spent) | None => CodeTaskState::update(),
    })
}

/// Returns the verifiers to run next; none if the attempt is ready for the decision.
pub(super) fn jobs(state: &CodeTaskState) -> Vec<RunVerifier> {
    let is_unverified = state.attempt.is_spent || state.obstacle.is_some();
    let entries = if is_unverified { vec![] } else { next(state) };
    entries.into_iter().filter_map(|entry| task(state, entry).ok()).collect()
}

/// Returns the verifiers of the first unfinished step that may run. Skipped ones report first. Within a step, verifiers
/// in code run before commands, and neither prevents the other; commands run sequentially, so that each change to the
/// files is attributed to one of them.
fn next(state: &CodeTaskState) -> Vec<&VerifierEntry> {
    let verifiers = &state.settings.run.verifiers;
    let is_left = |entry: &&VerifierEntry| output(state, entry).is_none();
    let skipped: Vec<_> = verifiers.entries.iter().filter(|entry| entry.skipped).filter(is_left).collect();
    if !skipped.is_empty() {
        return skipped;
    }
    for step in verifiers.steps() {
        let is_beside = |output: &&VerifierOutput| {
            step.verifiers.iter().any(|entry| entry.mode == VerifierMode::Code && entry.id == output.verifier)
        };
        if !may_run(step.stage, state.outputs.iter().filter(|output| !is_beside(output)), verifiers) {
            return vec![];
        }
        let of =
            |mode: VerifierMode| step.verifiers.iter().copied().filter(move |entry| entry.mode == mode).filter(is_left);
        let (in_code, models) =
            (of(VerifierMode::Code).collect::<Vec<_>>(), of(VerifierMode::Model).collect::<Vec<_>>());
        match (in_code.is_empty(), of(VerifierMode::Shell).next(), models.is_empty()) {
            (false, ..) => return in_code,
            (true, Some(command), _) => return vec![command],
            (true, None, false) => return models,
            (true, None, true) => {}
        }
    }
    vec![]
}

fn output<'s>(state: &'s CodeTaskState, entry: &VerifierEntry) -> Option<&'s VerifierOutput> {
    state.outputs.iter().find(|output| output.verifier == entry.id)
}

fn task(state: &CodeTaskState, entry: &VerifierEntry) -> Result<RunVerifier, NodeError> {
    let (start, spec) = (state.start()?, state.spec()?);
    let files = state.attempt.files.as_ref();
    let tree = files.map_or_else(|| start.base.tree.clone(), |files| files.tree.clone());
    Ok(RunVerifier {
        entry: entry.clone(),
        task: VerifierTask::from(spec),
        attempt: state.attempt.number,
        folder: start.folder.clone(),
        base: state.base()?,
        tree,
        agent: state.agent(Role::Verifier),
        host: VerifierHost {
            pass: state.settings.profile.tools.pass.clone(),
            long_diffs: state.long_diffs(),
            roots: vec![state.settings.repository.clone()],
        },
        expected: state.place.expected.clone(),
    })
}

/// Runs a verifier, or reports it as skipped.
pub(super) async fn verifier<C: Agents>(task: Arc<RunVerifier>, ctx: Ctx<C>) -> Result<Update, NodeError> {
    if task.entry.skipped {
        let look = |_| async {
            let planned = plan_verifier(&task.entry, &task.task, &task.folder).await?;
            Ok::<_, NodeError>(planned.command.is_some())
        };
        let has_command = ctx.effect("skipped", &task.entry.id, look).await?;
        let output = skipped_output(&task, has_command);
        emit_verified(&task, &output, &ctx).await?;
        return Ok(CodeTaskState::update().outputs(OutputChange::Add(Box::new(output))));
    }
    let VerifierRun { output, usage, raised, notices, tampered, is_spent, .. } = run_verifier(&task, &ctx).await?;
    emit_verified(&task, &output, &ctx).await?;
    let update = done::costing(Role::Verifier, usage).raised(raised).notices(notices);
    let update = match (tampered.is_empty(), is_spent) {
        (false, _) => {
            let who = format!("the verifier `{}`", output.verifier);
            update.obstacle(Some(Obstacle::Tampered(tampering_message(&who, &tampered))))
        }
        (true, true) => update.obstacle(Some(Obstacle::Spent)),
        (true, false) => update,
    };
    Ok(update.outputs(OutputChange::Add(Box::new(output))))
}

/// Emits the event for a finished verifier, once.
async fn emit_verified<C: Agents>(task: &RunVerifier, output: &VerifierOutput, ctx: &Ctx<C>) -> Result<(), NodeError> {
    let findings = output.findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    let verified = json!({ "verified": {
        "task_id": task.task.id, "attempt": task.attempt, "verifier": output.verifier, "severity": output.severity,
        "findings": findings, "skipped": output.skipped,
    }});
    let emit = |_| async {
        ctx.keep_event(&verified).await;
        Ok::<_, NodeError>(())
    };
    ctx.effect(format!("verifier/{}/told", output.verifier), &output.severity, emit).await
}

fn skipped_output(task: &RunVerifier, has_command: bool) -> VerifierOutput {
    let VerifierEntry { id, stakeholder, place, gate, .. } = &task.entry;
    let required = gate.required.holds(!task.task.acceptance.is_empty(), has_command);
    VerifierOutput {
        verifier: id.clone(),
        stakeholder: stakeholder.clone(),
        stage: place.stage.to_string(),
        severity: Severity::Info,
        verdict: None,
        findings: vec![],
        evidence: Evidence::default(),
        required,
        ms: 0,
        skipped: Some(SkipReason::Flag),
    }
}
