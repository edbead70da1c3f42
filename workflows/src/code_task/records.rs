//! The records of attempts: folders, messages, lines. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use superstep_base::gather;

use super::state::{ChildResult, CodeTaskState};
use crate::of_lone_task;
use superstep::decide::DecisionKind;
use superstep::findings::{Counts, Finding, FindingKind, Severity, VerifierOutput};
use superstep::graph::NodeError;
use superstep::nodes::__private::{CommitTarget, RecordJob};
use superstep::nodes::CommitJob;
use superstep::spec::Attempts;
use superstep::workspace::{StoredTree, TreeId, escape_id, reference_name};

/// Returns the name of the run for paths.
pub(super) fn run_name(state: &CodeTaskState) -> String {
    let run = state.start.as_ref().map(|start| start.run.as_str()).unwrap_or("run");
    escape_id(run)
}

/// Returns the folder with the records of a run: `runs/RUN` in the user's checkout, wherever that is now.
pub fn run_folder(state: &CodeTaskState) -> PathBuf {
    superstep_base::moved::present_path(stored_folder(state))
}

fn stored_folder(state: &CodeTaskState) -> PathBuf {
    state.settings.repository.join(&state.settings.records).join(run_name(state))
}

/// Returns the digests of the records of a task and its children, by their paths below its folder of records.
pub fn digests(state: &CodeTaskState) -> BTreeMap<String, String> {
    let own =
        state.attempts.iter().filter_map(|line| Some((format!("attempt-{}", line.past.number), line.record.clone()?)));
    let of_child = |child: &ChildResult| {
        let folder = format!("children/{}", child.id);
        child.records.iter().map(|(path, digest)| (format!("{folder}/{path}"), digest.clone())).collect::<Vec<_>>()
    };
    gather(own.chain(state.results.iter().flat_map(of_child)))
}

/// Returns the errors and warnings of verifiers, one per line: verifier, severity, place, message, fingerprint.
pub fn finding_lines(outputs: &[VerifierOutput]) -> Vec<String> {
    let all = outputs.iter().flat_map(|output| output.findings.iter().map(move |finding| (output, finding)));
    let mut found: Vec<_> = all.filter(|(_, finding)| finding.severity >= Severity::Warning).collect();
    found.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
    found.into_iter().map(|(output, finding)| line(&output.verifier, finding)).collect()
}

/// Returns the first of them, because the state is stored at each step. `verifier_outputs.json` has all.
pub(super) fn some_findings(outputs: &[VerifierOutput]) -> Vec<String> {
    first(finding_lines(outputs), 50, 16 * 1024)
}

/// Returns the first of them, for an agent's prompt.
pub(super) fn prompt_findings(outputs: &[VerifierOutput]) -> Vec<String> {
    first(finding_lines(outputs), 300, 64 * 1024)
}

/// Returns lines up to a number and a length in bytes, at least one, and counts those left out.
fn first(mut lines: Vec<String>, most: usize, bytes: usize) -> Vec<String> {
    let all = lines.len();
    let mut length = 0;
    let fits = |line: &&String| {
        length += line.len();
        length <= bytes
    };
    let count = lines.iter().take(most).take_while(fits).count().max(1);
    lines.truncate(count);
    if all > lines.len() {
        lines.push(format!("and {} more", all - lines.len()));
    }
    lines
}

/// Returns the folder of an attempt's record: `runs/RUN/attempt-N`, or `runs/RUN/children/ID/attempt-N` for a child.
pub(super) fn directory(state: &CodeTaskState, attempt: u32) -> PathBuf {
    let below = state.place.path.iter().fold(stored_folder(state), |path, id| path.join("children").join(id));
    below.join(format!("attempt-{attempt}"))
}

/// Returns the reference of an attempt: `refs/superstep/RUN/attempt-N`.
pub(super) fn reference(state: &CodeTaskState, attempt: u32) -> String {
    let run = state.start.as_ref().map(|start| start.run.as_str()).unwrap_or("run");
    let attempt = format!("attempt-{attempt}");
    let above = state.place.path.iter().flat_map(|id| ["children", id.as_str()]);
    let parts: Vec<&str> = above.chain([attempt.as_str()]).collect();
    reference_name(run, &parts)
}

/// Returns the message of an attempt's commit: `[TASK] attempt N: DECISION`, or `feat: TITLE` for the last one.
pub(super) fn message(state: &CodeTaskState) -> Result<String, NodeError> {
    let (spec, decision) = (state.spec()?, state.decision.as_ref());
    let (made, reason) = decision
        .map_or(("GIVE_UP".to_owned(), ""), |made| (made.decision.kind.to_string(), made.decision.reason.as_str()));
    let Counts { error, warning, info, .. } = Counts::of(&state.outputs);
    let attempt = format!("[{}] attempt {}: {made}", spec.id, state.attempt.number);
    let is_done = decision.is_some_and(|made| made.decision.kind == DecisionKind::Done);
    let template = &state.settings.profile.commit_template;
    let (subject, body) = match is_done && !template.is_of_old_runs() {
        true => (of_lone_task(template, &spec.title, &spec.id.to_string()), attempt),
        false => (attempt, spec.title.clone()),
    };
    let mut lines = vec![
        subject,
        String::new(),
        body,
        String::new(),
        format!("Findings: {error} errors, {warning} warnings, {info} infos"),
        format!("Reason: {}", reason.replace('\n', " ")),
        format!("Run: {}", run_name(state)),
        format!("Attempt: {}", state.attempt.number),
        format!("Depth: {}", state.place.depth),
    ];
    if !state.results.is_empty() {
        lines.push(String::new());
    }
    lines.extend(state.results.iter().map(|child| format!("Superstep-Child: {} {}", child.id, child.kind)));
    Ok(lines.join("\n"))
}

/// Returns the commit of the current attempt under its reference.
pub(super) fn attempt_tree(state: &CodeTaskState, tree: TreeId) -> Result<StoredTree, NodeError> {
    let last = state.attempts.iter().rev().find_map(|line| line.commit.clone());
    let parent = last.or_else(|| state.start.as_ref()?.base.at.commit.clone());
    let reference = reference(state, state.attempt.number);
    Ok(StoredTree { reference, parent, tree, message: message(state)?, at: 0 })
}

/// Returns the record of the current attempt.
pub(super) fn record(state: &CodeTaskState) -> Result<RecordJob, NodeError> {
    let (spec, start) = (state.spec()?, state.start()?);
    let number = state.attempt.number;
    let files = state.attempt.files.clone();
    let files = files.ok_or_else(|| NodeError::permanent("an attempt is recorded before its files were noted"))?;
    let message = message(state)?;
    let keep = if !files.leaked.is_empty() {
        CommitTarget::Nowhere
    } else if spec.git.attempts == Attempts::Branch && state.is_first() && !has_secrets(&state.outputs) {
        let commit = CommitJob::new(start.folder.clone(), state.position()?, Some(files.tree.clone()), message);
        let commit = commit.task(spec.id.to_string()).attempt(number);
        let is_last = state.decision.as_ref().is_some_and(|made| made.decision.kind == DecisionKind::Done);
        let start = state.attempt.is_behind.then(|| Box::new(start.base.clone()));
        CommitTarget::Branch { commit: Box::new(commit), start, or: attempt_tree(state, files.tree.clone())?, is_last }
    } else {
        CommitTarget::Reference(attempt_tree(state, files.tree.clone())?)
    };
    Ok(RecordJob::new(state.checkout(), state.base()?, files.tree, directory(state, number))
        .keep(keep)
        .decision(to_json(&state.decision)?)
        .outputs(to_json(&state.outputs)?)
        .spec(spec.render()))
}

/// True if verifiers found secrets. Such an attempt enters no branch, unless a person decides that it is done.
fn has_secrets(outputs: &[VerifierOutput]) -> bool {
    let findings = outputs.iter().flat_map(|output| &output.findings);
    findings.into_iter().any(|finding| finding.kind == FindingKind::Secret && finding.severity == Severity::Error)
}

fn to_json(value: &impl serde::Serialize) -> Result<Value, NodeError> {
    serde_json::to_value(value).map_err(NodeError::permanent)
}

fn line(verifier: &str, finding: &Finding) -> String {
    let place = match (&finding.evidence.file, &finding.evidence.lines) {
        (Some(file), Some(lines)) => format!(" {file}:{lines}"),
        (Some(file), None) => format!(" {file}"),
        (None, _) => String::new(),
    };
    let short = finding.fingerprint.short();
    format!("[{verifier}] {}{place}: {} ({short})", finding.severity, finding.message)
}
