//! A preview of a plan without a run: what the approval would show.

use serde::Serialize;

use super::describe::describe_approval;
use super::jobs::approval;
use super::state::ExecutionState;
use crate::graph::NodeError;
use crate::nodes::ApprovePlan;

/// The preview of a plan. As JSON, the question that its approval would ask.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DryPlan {
    /// The question.
    #[serde(flatten)]
    pub approval: ApprovePlan,
    #[serde(skip)]
    text: String,
}

impl DryPlan {
    pub(super) fn of(state: &ExecutionState) -> Result<Self, NodeError> {
        let approval = approval(state)?.question;
        let text = match (&state.plan_markdown, &state.issue) {
            (None, Some(issue)) => format!("an architect writes the plan for the issue {}: {}", issue.id, issue.title),
            _ => describe_approval(state, &approval),
        };
        Ok(Self { approval, text })
    }

    /// Returns the preview as text.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n", self.text.trim_end())
    }
}
