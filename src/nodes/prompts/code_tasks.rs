//! The prompts of code tasks: for the developer, and for splitting a task that keeps failing. Pure.

use super::brief::{Brief, BriefTask};
use super::feedback::{Feedback, salvaged};
use super::parts::Parts;
use super::prompt::Prompt;
use super::template::{Template, listed, template};

const CODE_TASK: Template = template!("code-task");
const SPLITTER: Template = template!("splitter");

/// A task to split.
#[derive(Clone, Debug)]
pub struct ToSplit<'a> {
    /// Number of attempts with the same findings.
    pub attempts: usize,
    /// Findings by their likely cause, a block each.
    pub clusters: &'a [String],
    /// The attempts so far, a line each.
    pub tried: &'a [String],
    /// The reasons why the proposal before was refused.
    pub refused: &'a [String],
    /// Maximum number of children.
    pub most: u32,
}

impl Prompt {
    /// Returns the first prompt of a code task.
    pub(super) fn code_task(brief: &Brief, task: &BriefTask, feedback: &Feedback, salvage: Option<&str>) -> Self {
        let verify = brief.verify.iter().map(|line| format!("`{line}`"));
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("section", brief.section.fenced()),
            ("constraints", listed("Keep to this:", &task.constraints).into()),
            ("acceptance", listed("It is done when:", &brief.acceptance).into()),
            ("related", related(task).into()),
            ("verify", listed("Among others, these commands check it:", verify).into()),
            ("salvage", salvaged(salvage).into()),
            ("feedback", feedback.text("An earlier attempt was not accepted:").into()),
        ];
        Self::of(&CODE_TASK, &slots)
    }

    /// Returns the prompt for splitting a code task.
    pub fn splitter(brief: &Brief, split: &ToSplit<'_>) -> Self {
        let refused = listed("Your proposal before was refused:", split.refused);
        let clusters: Vec<Parts> = split.clusters.iter().map(|text| Parts::fenced("text", text.as_str())).collect();
        let clusters = clusters.into_iter().fold(Parts::default(), |all, one| all.with(one).with("\n\n"));
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("section", brief.section.fenced()),
            ("acceptance", listed("It is done when:", &brief.acceptance).into()),
            ("attempts", split.attempts.to_string().into()),
            ("clusters", clusters.trim_end()),
            ("tried", listed("The attempts:", split.tried).into()),
            ("refused", refused.into()),
            ("most", split.most.to_string().into()),
        ];
        Self::of(&SPLITTER, &slots)
    }
}

fn related(task: &BriefTask) -> String {
    let origin = listed("It was split off a larger task, to settle these findings:", &task.origin);
    format!("{}{origin}", listed("It is part of something larger; only this task is yours:", &task.related))
}
