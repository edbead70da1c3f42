//! `task show`: the attempts of a task with decisions, findings and costs, and those of its children.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use superstep::decide::RecordedDecision;
use superstep::drivers::{Usage, dollars};
use superstep::spec::TaskSpec;
use superstep_app::{CustomOutput, Refusal, ThreadSummary};
use superstep_base::text::short_id;
use superstep_workflows::code_task::{AttemptLine, CodeTaskState, TaskOutcome, digests, finding_lines, run_folder};

use super::records::FolderRecords;
use super::{records, state};

/// The arguments of `task show`.
#[derive(Args)]
#[command(after_help = "Example:\n  {bin} task show tides --json")]
pub(crate) struct Show {}

/// A task as it is shown.
#[derive(Serialize)]
struct ShownTask {
    task: String,
    title: String,
    outcome: Option<TaskOutcome>,
    /// Its usage with that of its children; none: it is not known.
    usage: Option<Usage>,
    attempts: Vec<ShownAttempt>,
    children: Vec<ShownTask>,
    /// Folders of records that are not there any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<PathBuf>,
}

/// An attempt as it is shown.
#[derive(Serialize)]
struct ShownAttempt {
    attempt: u32,
    decision: String,
    rule: String,
    reason: String,
    findings: Vec<String>,
    commit: Option<String>,
    usage: Option<Usage>,
}

/// Lists the attempts of a task and of its children.
pub(crate) async fn show(_: Show, found: ThreadSummary) -> Result<CustomOutput, Refusal> {
    let state = state::task(&found)?;
    let missing = records::of_task(&state)?.missing; // a changed record is an error
    let shown = ShownTask { missing, ..of_state(&state)? };
    let mut lines = vec![];
    shown.push_lines("", &mut lines);
    CustomOutput::new(lines.join("\n") + "\n", &shown)
}

fn of_state(state: &CodeTaskState) -> Result<ShownTask, Refusal> {
    let spec = state.spec.as_ref();
    Ok(ShownTask {
        task: spec.map(|spec| spec.id.as_str().to_owned()).unwrap_or_default(),
        title: spec.map(|spec| spec.title.clone()).unwrap_or_default(),
        outcome: state.outcome,
        usage: Some(state.usage),
        attempts: state.attempts.iter().map(of_line).collect(),
        children: children(state)?,
        missing: vec![],
    })
}

fn of_line(line: &AttemptLine) -> ShownAttempt {
    ShownAttempt {
        attempt: line.past.number,
        decision: line.decision.clone(),
        rule: line.rule.clone(),
        reason: line.reason.clone(),
        findings: line.findings.clone(),
        commit: line.commit.as_ref().map(ToString::to_string),
        usage: Some(line.usage),
    }
}

/// Returns the children of the first task, including those that have not started.
fn children(state: &CodeTaskState) -> Result<Vec<ShownTask>, Refusal> {
    let specs = state.children.iter().flat_map(|children| &children.specs);
    let folder = run_folder(state).join("children");
    let digests = digests(state);
    if let Some((_, extra)) =
        records::children(&run_folder(state), None)?.into_iter().find(|(id, folder)| is_extra(state, id, folder))
    {
        return Err(records::unknown_error(&extra));
    }
    let child = |spec: &TaskSpec| {
        let id = spec.id.as_str();
        let result = state.results.iter().find(|result| result.id == id);
        let known = result.map(|result| FolderRecords {
            digests: &digests,
            path: format!("children/{id}/"),
            is_whole: !result.records.is_empty() || result.attempts == 0,
        });
        let mut shown = of_records(id, &folder.join(id), known.as_ref())?;
        shown.title.clone_from(&spec.title);
        shown.outcome = result.map(|result| result.outcome);
        shown.usage = result.map(|result| result.usage);
        Ok(shown)
    };
    specs.map(child).collect()
}

/// Returns whether a folder has records of a child that the task does not have.
fn is_extra(state: &CodeTaskState, id: &str, folder: &Path) -> bool {
    let mut specs = state.children.iter().flat_map(|children| &children.specs);
    !specs.any(|spec| spec.id.as_str() == id) && records::spec(folder).is_some()
}

/// A task as its records tell of it.
fn of_records(id: &str, folder: &Path, known: Option<&FolderRecords<'_>>) -> Result<ShownTask, Refusal> {
    let below = records::children(folder, known)?;
    let records = records::attempts(folder, known)?;
    let child = |(id, folder): &(String, PathBuf)| of_records(id, folder, known.map(|known| known.child(id)).as_ref());
    let title = records::spec(folder).and_then(|text| TaskSpec::parse(&text, "spec.md").ok()).map(|spec| spec.title);
    Ok(ShownTask {
        task: id.to_owned(),
        title: title.unwrap_or_default(),
        outcome: None,
        usage: None,
        attempts: records.found.iter().map(of_record).collect(),
        children: below.iter().map(child).collect::<Result<_, _>>()?,
        missing: records.missing,
    })
}

fn of_record(recorded: &RecordedDecision) -> ShownAttempt {
    let RecordedDecision { outputs, record } = recorded;
    ShownAttempt {
        attempt: record.about.attempt,
        decision: record.decision.kind.to_string(),
        rule: record.decision.rule.clone(),
        reason: record.decision.reason.clone(),
        findings: finding_lines(outputs),
        commit: record.commit.clone(),
        usage: None,
    }
}

impl ShownTask {
    /// Adds lines, each after `margin`.
    fn push_lines(&self, margin: &str, lines: &mut Vec<String>) {
        let cost = cost(self.usage.as_ref());
        lines.push(format!("{margin}task {}: {}{}{cost}", self.task, self.title, outcome(self.outcome)));
        for attempt in &self.attempts {
            attempt.push_lines(&format!("{margin}  "), lines);
        }
        for missing in &self.missing {
            lines.push(format!("{margin}  the record {} is missing", missing.display()));
        }
        for child in &self.children {
            child.push_lines(&format!("{margin}  "), lines);
        }
    }
}

impl ShownAttempt {
    fn push_lines(&self, margin: &str, lines: &mut Vec<String>) {
        let commit: String = self.commit.iter().map(|commit| format!("  {}", short_id(commit))).collect();
        let cost = cost(self.usage.as_ref());
        lines.push(format!("{margin}attempt {}: {} by {}{cost}{commit}", self.attempt, self.decision, self.rule));
        lines.push(format!("{margin}  {}", self.reason.replace('\n', " ")));
        lines.extend(self.findings.iter().map(|finding| format!("{margin}  {}", finding.replace('\n', " "))));
    }
}

fn cost(usage: Option<&Usage>) -> String {
    usage.filter(|usage| usage.cost > 0).map(|usage| format!("  {}", dollars(usage.cost))).unwrap_or_default()
}

fn outcome(outcome: Option<TaskOutcome>) -> &'static str {
    match outcome {
        Some(TaskOutcome::Done) => "  done",
        Some(TaskOutcome::GaveUp) => "  given up",
        Some(TaskOutcome::Failed) => "  failed",
        Some(TaskOutcome::Cancelled) => "  cancelled",
        None => "",
    }
}
