//! Text about a task for people: a preview of its stages, commands and prompts without running it; its attempts with
//! decisions, findings and costs, its children, its interrupts.

use serde::Serialize;
use superstep_base::moved::present_path;

use super::state::{AttemptLine, CodeTask, CodeTaskState, ReadTask, TaskOutcome};
use crate::texts::{RunWork, budget_command, budget_lines, describe_budget, usage_lines};
use superstep::drivers::dollars;
use superstep::graph::{HumanQuestion, NodeError, Reply};
use superstep::nodes::__private::{PlannedVerifier, plan_verifier};
use superstep::nodes::{AfterBudget, AfterGivingUp, BudgetReached, DecideTask, Feedback, Prompt, TaskGivenUp};
use superstep::spec::{Criticality, MergeStep, Policy, VerifierMode};
use superstep::verifiers::VerifierTask;

/// The maximum number of findings shown of the last attempt.
const MAX_FINDINGS: usize = 10;

/// Summarizes a task: its attempts, the findings of the last one, its children, its costs.
pub fn summary(state: &CodeTaskState) -> String {
    let mut lines = vec![];
    lines.extend(state.spec.as_ref().map(|spec| format!("task {}: {}", spec.id, spec.title)));
    lines.extend(state.start.as_ref().and_then(|start| Some(format!("branch: {}", start.base.at.branch.as_ref()?))));
    lines.extend(state.outcome.map(|outcome| format!("outcome: {}", outcome_text(outcome))));
    lines.extend(state.attempts.iter().flat_map(attempt));
    if state.outcome != Some(TaskOutcome::Done) {
        let findings = state.attempts.last().map(|line| line.findings.as_slice()).unwrap_or_default();
        lines.extend(findings.iter().take(MAX_FINDINGS).map(|finding| format!("  {finding}")));
        if findings.len() > MAX_FINDINGS {
            lines.push(format!("  and {} more", findings.len() - MAX_FINDINGS));
        }
    }
    lines.extend(children(state));
    lines.extend(usage_lines(&state.usage));
    lines.extend(budget_lines(state.usage, state.budget()));
    lines.extend(state.notices.iter().map(|notice| format!("note: {notice}")));
    lines.extend(work_lines(state));
    lines.join("\n")
}

/// Returns the lines about the work of a task that has ended with a commit.
fn work_lines(state: &CodeTaskState) -> Vec<String> {
    let Some(start) = state.start.as_ref().filter(|_| state.outcome.is_some() && state.is_first()) else {
        return vec![];
    };
    let has_commit = state.position().is_ok_and(|base| base.at.commit != start.base.at.commit);
    let repository = &state.settings.repository;
    let (came_from, is_complete) = (start.came_from.as_ref(), state.is_done());
    RunWork { repository, start: &start.base, came_from, commits: has_commit.into(), is_complete }.lines()
}

/// Returns the commands that decide on a task in place of the rules, without program and thread.
fn decide_commands(question: &TaskGivenUp) -> Vec<String> {
    let done = "override DONE --why 'why it is done'";
    let split = question.may_split.then_some("override SPLIT --why 'why it should be split'");
    std::iter::once(done).chain(split).map(str::to_owned).collect()
}

fn outcome_text(outcome: TaskOutcome) -> &'static str {
    match outcome {
        TaskOutcome::Done => "done",
        TaskOutcome::GaveUp => "given up",
        TaskOutcome::Failed => "failed: decided by a person",
        TaskOutcome::Cancelled => "cancelled",
    }
}

fn attempt(line: &AttemptLine) -> Vec<String> {
    let mark = match line.decision.as_str() {
        "DONE" => '✓',
        "RETRY" | "SPLIT" => '●',
        _ => '✗',
    };
    let mut text = format!("{mark} attempt {}: {} by {}", line.past.number, line.decision, line.rule);
    if line.usage.cost > 0 {
        text.push_str(&format!("  {}", dollars(line.usage.cost)));
    }
    if let Some(commit) = &line.commit {
        text.push_str(&format!("  {}", commit.short()));
    }
    vec![text, format!("    {}", line.reason.replace('\n', " "))]
}

/// Returns a line for each child.
fn children(state: &CodeTaskState) -> Vec<String> {
    let Some(children) = &state.children else { return vec![] };
    let line = |(at, spec): (usize, &superstep::spec::TaskSpec)| match state.results.get(at) {
        Some(result) => {
            let mark = if result.outcome == TaskOutcome::Done { '✓' } else { '✗' };
            let first = result.decision.lines().next().unwrap_or_default();
            format!("  {mark} {} {}: {first}", result.id, result.title)
        }
        None => format!("  ○ {} {}", spec.id, spec.title),
    };
    let lines = children.specs.iter().enumerate().map(line);
    let head = (!children.specs.is_empty()).then(|| "children:".to_owned());
    head.into_iter().chain(lines).collect()
}

/// Returns the label of a child: `task tides.1`.
pub fn label(child: &CodeTask) -> String {
    format!("task {}", child.spec.id)
}

/// Describes the interrupt of a task that was given up, with its findings and the location of its work.
fn describe_question(state: &CodeTaskState, question: &TaskGivenUp) -> String {
    let TaskGivenUp { task, title, decision, rule, reason, attempt, findings, salvage, cost, problem, may_split } =
        question;
    let spent = if *cost > 0 { format!("; it has cost {}", dollars(*cost)) } else { String::new() };
    let mut lines = vec![
        format!("task {task}: {title}"),
        format!("attempts so far: {attempt}{spent}"),
        format!("why it stopped: {decision} by the rule `{rule}`: {reason}"),
    ];
    lines.extend(problem.iter().map(|problem| format!("the previous answer could not be applied: {problem}")));
    if !findings.is_empty() {
        lines.push("findings:".into());
        lines.extend(findings.iter().map(|finding| format!("  {finding}")));
    }
    if *may_split {
        lines.push("it can be split into smaller tasks".into());
    }
    if let Some(salvage) = salvage {
        lines.push("its work is kept in git; show it with".into());
        lines.push(format!("  git -C {} show {salvage}", present_path(&state.settings.repository).display()));
    }
    lines.join("\n")
}

impl HumanQuestion<CodeTaskState> for TaskGivenUp {
    const EXIT_CODE: u8 = 11;

    fn decide(&self, reply: &Reply) -> Option<AfterGivingUp> {
        AfterGivingUp::of(reply)
    }

    fn describe(&self, state: &CodeTaskState) -> Option<String> {
        Some(describe_question(state, self))
    }

    fn check(&self, answer: &AfterGivingUp) -> Option<String> {
        self.problem_of(answer)
    }

    fn commands(&self, _: &CodeTaskState) -> Vec<String> {
        decide_commands(self)
    }
}

impl HumanQuestion<CodeTaskState> for DecideTask {
    fn decide(&self, reply: &Reply) -> Option<AfterGivingUp> {
        AfterGivingUp::of(reply)
    }

    fn describe(&self, state: &CodeTaskState) -> Option<String> {
        Some(describe_question(state, &self.about))
    }

    fn check(&self, answer: &AfterGivingUp) -> Option<String> {
        self.about.problem_of(answer)
    }

    fn commands(&self, _: &CodeTaskState) -> Vec<String> {
        decide_commands(&self.about)
    }
}

impl HumanQuestion<CodeTaskState> for BudgetReached {
    fn decide(&self, reply: &Reply) -> Option<AfterBudget> {
        AfterBudget::of(reply)
    }

    fn describe(&self, _: &CodeTaskState) -> Option<String> {
        Some(describe_budget(self))
    }

    fn commands(&self, _: &CodeTaskState) -> Vec<String> {
        vec![budget_command(self), "override DONE --why 'why it is done'".into()]
    }
}

/// The preview of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DryRun {
    /// The task's id.
    pub task_id: String,
    /// Its title.
    pub title: String,
    /// The limits.
    pub policy: Policy,
    /// The length of the first prompt of its agent, in bytes.
    pub prompt: usize,
    /// The verifiers, in execution order.
    pub verifiers: Vec<DryVerifier>,
}

/// A verifier that would run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DryVerifier {
    /// The id.
    pub verifier: String,
    /// The stage.
    pub stage: String,
    /// The position in the order, from 1; verifiers with the same position may run in parallel.
    pub step: usize,
    /// The kind of verifier.
    pub mode: VerifierMode,
    /// The weight of its findings.
    pub criticality: Criticality,
    /// Set if it is skipped.
    pub skipped: bool,
    /// Its command and prompt.
    #[serde(flatten)]
    pub planned: PlannedVerifier,
}

impl DryRun {
    /// Returns the preview of a task.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub async fn of(read: ReadTask) -> Result<Self, NodeError> {
        let ReadTask { spec, settings } = read;
        let state = CodeTaskState { spec: Some(spec.clone()), settings, ..CodeTaskState::default() };
        let prompt = Prompt::developer(&state.brief()?, &Feedback::default(), None).text().len();
        let mut verifiers = vec![];
        for (step, MergeStep { stage, verifiers: entries, .. }) in (1..).zip(state.settings.run.verifiers.steps()) {
            for entry in entries {
                verifiers.push(DryVerifier {
                    verifier: entry.id.clone(),
                    stage: stage.to_string(),
                    step,
                    mode: entry.mode,
                    criticality: entry.gate.criticality,
                    skipped: entry.skipped,
                    planned: plan_verifier(entry, &VerifierTask::from(&spec), &state.checkout()).await?,
                });
            }
        }
        Ok(Self { task_id: spec.id.to_string(), title: spec.title, policy: spec.policy, prompt, verifiers })
    }

    /// Returns the preview as text.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { task_id, title, policy, prompt, verifiers } = self;
        let Policy { max_attempts, max_depth, split_on_repeat_errors, max_children, parallel_children, .. } = policy;
        let mut lines = vec![
            format!("task {task_id}: {title}"),
            format!(
                "attempts: {max_attempts}; depth: {max_depth}; split when an error repeats in {split_on_repeat_errors} attempts"
            ),
            format!("children: {max_children}, {parallel_children} at a time"),
            format!("first prompt of the agent: {prompt} bytes"),
        ];
        lines.extend(verifiers.iter().map(DryVerifier::line));
        lines.join("\n") + "\n"
    }
}

impl DryVerifier {
    fn line(&self) -> String {
        let Self { verifier, stage, step, mode, criticality, skipped, planned } = self;
        let does = match planned {
            _ if *skipped => "skipped".to_owned(),
            PlannedVerifier { command: Some(command), .. } => {
                format!("$ {}", command.trim().replace('\n', "\n       "))
            }
            PlannedVerifier { prompt: Some(bytes), .. } => format!("a prompt of {bytes} bytes and the changes"),
            PlannedVerifier { .. } if *mode == VerifierMode::Shell => "no command was found: it passes".to_owned(),
            PlannedVerifier { .. } => "code".to_owned(),
        };
        format!("  {step}. {stage}: {verifier} ({criticality}): {does}")
    }
}
