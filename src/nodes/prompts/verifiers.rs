//! The prompts of model verifiers. Pure.

use super::diff::Diff;
use super::fence::fenced;
use super::parts::Parts;
use super::prompt::{FRAME, Prompt};
use super::template::{Template, listed, template};
use crate::verifiers::{Neighbour, TaskView};

const ALIGNMENT: Template = template!("verifier-alignment");
const BIG_PICTURE: Template = template!("verifier-bigpicture");
const STYLE: Template = template!("verifier-style");
const OWN: Template = template!("verifier-own");

/// The facts that a model verifier is shown.
#[derive(Clone, Copy, Debug)]
pub(in crate::nodes) struct Verification<'a> {
    /// The task.
    pub(in crate::nodes) task: &'a TaskView,
    /// The criteria to judge.
    pub(in crate::nodes) criteria: &'a [String],
    /// The next tasks to show.
    pub(in crate::nodes) next: &'a [Neighbour],
    /// The prompt in the verifier's settings.
    pub(in crate::nodes) own: Option<&'a str>,
    /// The changes of the task.
    pub(in crate::nodes) diff: &'a Diff,
}

impl Prompt {
    /// Returns the system prompt of a verifier.
    pub(in crate::nodes) fn verifier_system(id: &str, tool: &str) -> Self {
        let duty =
            "You verify the work of others: you read, change nothing, decide nothing, and hand over what you found.";
        Self::of(&FRAME, &[("role", format!("verifier `{id}`").into()), ("duty", duty.into()), ("tool", tool.into())])
    }

    /// Returns the prompt for a judgement on the acceptance criteria.
    pub(in crate::nodes) fn alignment(shown: &Verification<'_>) -> Self {
        Self::of(&ALIGNMENT, &shown.slots())
    }

    /// Returns the prompt for risks.
    pub(in crate::nodes) fn big_picture(shown: &Verification<'_>) -> Self {
        Self::of(&BIG_PICTURE, &shown.slots())
    }

    /// Returns the prompt for suggestions of style.
    pub(in crate::nodes) fn style(shown: &Verification<'_>) -> Self {
        Self::of(&STYLE, &shown.slots())
    }

    /// Returns the prompt of a verifier with its own text.
    pub(in crate::nodes) fn own_verifier(shown: &Verification<'_>) -> Self {
        Self::of(&OWN, &shown.slots())
    }
}

impl Verification<'_> {
    fn slots(&self) -> [(&'static str, Parts); 7] {
        let TaskView { id, title, description, constraints, parent, .. } = self.task;
        let task = Parts::from(format!("Task {id}: {title}\n\n"));
        let task = if description.is_empty() {
            task
        } else {
            task.with(Parts::fenced("markdown", description.as_str())).with("\n\n")
        };
        let own = self.own.map(|own| format!("{}\n\n", own.trim())).unwrap_or_default();
        [
            ("task", task),
            ("constraints", listed("Constraints:", constraints).into()),
            ("criteria", listed("Acceptance criteria:", self.criteria).into()),
            ("parent", others("The parent task, of which this one is a part:", parent.as_slice())),
            ("next", others("The next tasks:", self.next)),
            ("own", own.into()),
            ("diff", self.diff.text()),
        ]
    }
}

fn others(heading: &str, tasks: &[Neighbour]) -> Parts {
    let line = |task: &Neighbour| match task.text.trim() {
        "" => format!("`{}`", task.id),
        text => format!("`{}`\n{}", task.id, fenced("text", text)),
    };
    listed(heading, tasks.iter().map(line)).into()
}
