//! The prompts of a plan: for its architect, for the developer and the reviewer of a task, and for the final review.
//! Pure.

use super::brief::{Brief, goal_line};
use super::diff::Diff;
use super::feedback::{Feedback, comment_line, salvaged};
use super::parts::Parts;
use super::prompt::Prompt;
use super::template::{Template, listed, template};
use super::work::Work;
use crate::plan::Issue;

pub(super) const ARCHITECT: Template = template!("architect");
pub(super) const FORMER: Template = template!("architect-former");
pub(super) const WISHES: Template = template!("architect-wishes");
pub(super) const DEVELOPER: Template = template!("developer");
pub(super) const RETRY: Template = template!("developer-retry");
pub(super) const REPLY: Template = template!("developer-reply");
pub(super) const SO_FAR: Template = template!("developer-so-far");
pub(super) const REVIEWER: Template = template!("reviewer");
pub(super) const FINAL: Template = template!("final");

impl Prompt {
    /// Returns the prompt for a plan; `former` is the previous plan, `issues` are changes to make or problems to
    /// consider.
    pub fn architect(issue: &Issue, former: Option<&str>, issues: &[String]) -> Self {
        let listed = listed("", issues);
        let issues = [("issues", Parts::from(listed.trim()))];
        let former = match former {
            _ if listed.is_empty() => Parts::default(),
            Some(plan) => {
                let [issues] = issues;
                FORMER.fill(&[issues, ("plan", Parts::fenced("markdown", plan))])
            }
            None => WISHES.fill(&issues),
        };
        let slots = [
            ("id", issue.id.as_str().into()),
            ("title", issue.title.as_str().into()),
            ("description", Parts::fenced("markdown", issue.description.as_str())),
            ("former", former),
        ];
        Self::of(&ARCHITECT, &slots)
    }

    /// Returns the first prompt of a task.
    pub fn developer(brief: &Brief, feedback: &Feedback, salvage: Option<&str>) -> Self {
        if let Some(phase) = &brief.phase {
            return Self::subtask(brief, phase, feedback, salvage);
        }
        if let Some(task) = &brief.code_task {
            return Self::code_task(brief, task, feedback, salvage);
        }
        let mut around = match brief.around.as_str() {
            "" => String::new(),
            outline => format!("Where this task stands in the plan:\n\n{}\n\n", outline.trim_end()),
        };
        if let Some(file) = &brief.plan_file {
            around.push_str(&format!("The whole plan stands in `{}`; it is not yours to change.\n\n", file.display()));
        }
        let verify = brief.verify.iter().map(|line| format!("`{line}`"));
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("goal", goal_line(&brief.goal).into()),
            ("section", brief.section.fenced()),
            ("around", around.into()),
            ("acceptance", listed("It is done when:", &brief.acceptance).into()),
            ("verify", listed("These commands have to succeed then:", verify).into()),
            ("salvage", salvaged(salvage).into()),
            ("feedback", feedback.text("An earlier attempt was not accepted:").into()),
        ];
        Self::of(&DEVELOPER, &slots)
    }

    /// Returns the prompt of another attempt in the same session.
    pub fn retry(brief: &Brief, feedback: &Feedback, salvage: Option<&str>) -> Self {
        let mut found = feedback.text("");
        if found.is_empty() {
            found =
                "No finding was named: hold your changes against the task and what it is done by, and mend what is \
                     missing.\n\n"
                    .into();
        }
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("feedback", found.into()),
            ("salvage", salvaged(salvage).into()),
        ];
        Self::of(&RETRY, &slots)
    }

    /// Returns a person's answer to a developer's question.
    pub fn reply(text: &str) -> Self {
        Self::of(&REPLY, &[("reply", text.into())])
    }

    /// Returns the prompt to continue the work of another session.
    pub fn so_far(changes: &Diff) -> Self {
        Self::of(&SO_FAR, &[("diff", changes.text())])
    }

    /// Returns the prompt for a review.
    pub fn reviewer(brief: &Brief, work: &Work<'_>) -> Self {
        if let Some(phase) = brief.phase.as_ref().filter(|phase| !phase.subtasks.is_empty()) {
            return Self::phase_reviewer(brief, phase, work);
        }
        let kind = if work.kind == "general" { String::new() } else { format!(", for {} alone", work.kind) };
        let delta = match work.delta {
            "" => Parts::default(),
            delta => {
                let heading = Parts::from("What has changed since the last review:\n\n");
                heading.with(Parts::fenced("diff", delta)).with("\n\n")
            }
        };
        let earlier = work.earlier.iter().map(comment_line);
        let earlier = listed(
            "Earlier comments; say of each whether it is settled, by `resolved_ids` and `unresolved_ids`:",
            earlier,
        );
        let slots = [
            ("kind", kind.into()),
            ("breadcrumb", brief.breadcrumb().into()),
            ("goal", goal_line(&brief.goal).into()),
            ("section", brief.section.fenced()),
            ("acceptance", listed("It is done when:", &brief.acceptance).into()),
            ("checks", listed("The checks ended so:", work.checks).into()),
            ("earlier", earlier.into()),
            ("diff", work.diff.text()),
            ("delta", delta),
        ];
        Self::of(&REVIEWER, &slots)
    }

    /// Returns the prompt for a review of everything.
    pub fn final_review(goal: &str, outline: &str, diff: &Diff) -> Self {
        Self::of(&FINAL, &[("goal", goal_line(goal).into()), ("outline", outline.into()), ("diff", diff.text())])
    }
}
