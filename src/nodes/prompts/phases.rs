//! The prompts of phases: for the developer of a subtask, and for the reviewer of a phase. Pure.

use super::brief::{Brief, BriefPhase, goal_line};
use super::feedback::{Feedback, comment_line};
use super::parts::Parts;
use super::prompt::Prompt;
use super::template::{Template, listed, template};
use super::work::Work;

const SUBTASK: Template = template!("subtask");
const REVIEWER: Template = template!("phase-reviewer");

impl Prompt {
    /// Returns the first prompt of a subtask.
    pub(super) fn subtask(brief: &Brief, phase: &BriefPhase, feedback: &Feedback, salvage: Option<&str>) -> Self {
        let around = match brief.around.as_str() {
            "" => String::new(),
            outline => format!("The tasks of the plan:\n\n{}\n\n", outline.trim_end()),
        };
        let salvage = salvage.map(|at| {
            format!(
                "The work of earlier attempts was taken back; it is kept in git as `{at}` (`git show REFERENCE`).\n\n"
            )
        });
        let verify = brief.verify.iter().map(|line| format!("`{line}`"));
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("goal", goal_line(&brief.goal).into()),
            ("plan", phase.plan()),
            ("id", brief.id.as_str().into()),
            ("section", brief.section.fenced()),
            ("around", around.into()),
            ("acceptance", listed("It is done when:", &brief.acceptance).into()),
            ("verify", listed("These commands have to succeed then:", verify).into()),
            ("salvage", salvage.unwrap_or_default().into()),
            ("feedback", feedback.text("An earlier attempt was not accepted:").into()),
        ];
        Self::of(&SUBTASK, &slots)
    }

    /// Returns the prompt of the reviewer of a phase.
    pub(super) fn phase_reviewer(brief: &Brief, phase: &BriefPhase, work: &Work<'_>) -> Self {
        let kind = if work.kind == "general" { String::new() } else { format!(", for {} alone", work.kind) };
        let earlier = work.earlier.iter().map(comment_line);
        let earlier = listed(
            "Comments on the attempt before, which was taken back; say of each whether this one settles it, by `resolved_ids` \
             and `unresolved_ids`:",
            earlier,
        );
        let slots = [
            ("kind", kind.into()),
            ("breadcrumb", brief.breadcrumb().into()),
            ("goal", goal_line(&brief.goal).into()),
            ("plan", phase.plan()),
            ("subtasks", listed("Its subtasks:", &phase.subtasks).into()),
            ("section", brief.section.fenced()),
            ("acceptance", listed("They are done when:", &brief.acceptance).into()),
            ("checks", listed("The checks ended so:", work.checks).into()),
            ("earlier", earlier.into()),
            ("diff", work.diff.text()),
            ("delta", Parts::default()),
        ];
        Self::of(&REVIEWER, &slots)
    }
}
