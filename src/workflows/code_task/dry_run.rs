//! A preview of a task without running it: its stages, commands and prompts.

use serde::Serialize;

use super::read_task::ReadTask;
use super::state::CodeTaskState;
use crate::graph::NodeError;
use crate::nodes::{Feedback, PlannedVerifier, Prompt, planned_verifier};
use crate::spec::{Criticality, Mode, Policy, Step};
use crate::verifiers::TaskView;

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
    pub mode: Mode,
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
        for (step, Step { stage, verifiers: entries }) in (1..).zip(state.settings.run.verifiers.steps()) {
            for entry in entries {
                verifiers.push(DryVerifier {
                    verifier: entry.id.clone(),
                    stage: stage.to_string(),
                    step,
                    mode: entry.mode,
                    criticality: entry.gate.criticality,
                    skipped: entry.skipped,
                    planned: planned_verifier(entry, &TaskView::from(&spec), &state.checkout()).await?,
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
                "attempts: {max_attempts}; depth: {max_depth}; split when an error is seen in {split_on_repeat_errors}"
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
            PlannedVerifier { .. } if *mode == Mode::Shell => "no command was found: it passes".to_owned(),
            PlannedVerifier { .. } => "code".to_owned(),
        };
        format!("  {step}. {stage}: {verifier} ({criticality}): {does}")
    }
}
