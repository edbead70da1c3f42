//! The prompts of each role: of the architect of a plan, of those who develop and review tasks, subtasks, phases and code
//! tasks, of those who split a task or verify it. Pure.

use super::brief::{
    Brief, BriefPhase, BriefTask, Feedback, PromptDiff, ReviewedWork, comment_line, goal_line, salvage_note,
};
use super::prompt::{FRAME, Parts, Prompt, Template, add_fence, format_list, template};
use crate::plan::Issue;
use crate::verifiers::{Neighbour, VerifierTask};

pub(super) const ARCHITECT: Template = template!("architect");
pub(super) const FORMER: Template = template!("architect-former");
pub(super) const WISHES: Template = template!("architect-wishes");
pub(super) const DEVELOPER: Template = template!("developer");
pub(super) const RETRY: Template = template!("developer-retry");
pub(super) const REPLY: Template = template!("developer-reply");
const SO_FAR: Template = template!("developer-so-far");
pub(super) const REVIEWER: Template = template!("reviewer");
pub(super) const FINAL: Template = template!("final");
const SUBTASK: Template = template!("subtask");
const PHASE_REVIEWER: Template = template!("phase-reviewer");
const CODE_TASK: Template = template!("code-task");
const SPLITTER: Template = template!("splitter");
const ALIGNMENT: Template = template!("verifier-alignment");
const BIG_PICTURE: Template = template!("verifier-bigpicture");
const STYLE: Template = template!("verifier-style");
const OWN: Template = template!("verifier-own");

/// A task to split.
#[derive(Clone, Debug)]
pub struct SplitInput<'a> {
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

/// The facts that a model verifier is shown.
#[derive(Clone, Copy, Debug)]
pub(in crate::nodes) struct Verification<'a> {
    /// The task.
    pub(in crate::nodes) task: &'a VerifierTask,
    /// The criteria to judge.
    pub(in crate::nodes) criteria: &'a [String],
    /// The next tasks to show.
    pub(in crate::nodes) next: &'a [Neighbour],
    /// The prompt in the verifier's settings.
    pub(in crate::nodes) own: Option<&'a str>,
    /// The changes of the task.
    pub(in crate::nodes) diff: &'a PromptDiff,
}

impl Prompt {
    /// Returns the prompt for a plan; `former` is the previous plan, `issues` are changes to make or problems to
    /// consider.
    pub fn architect(issue: &Issue, former: Option<&str>, issues: &[String]) -> Self {
        let listed = format_list("", issues);
        let issues = [("issues", Parts::from(listed.trim()))];
        let former = match former {
            _ if listed.is_empty() => Parts::default(),
            Some(plan) => {
                let [issues] = issues;
                FORMER.fill(&[issues, ("plan", Parts::fenced_text("markdown", plan))])
            }
            None => WISHES.fill(&issues),
        };
        let slots = [
            ("id", issue.id.as_str().into()),
            ("title", issue.title.as_str().into()),
            ("description", Parts::fenced_text("markdown", issue.description.as_str())),
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
            ("section", brief.section.to_fenced()),
            ("around", around.into()),
            ("acceptance", format_list("It is done when:", &brief.acceptance).into()),
            ("verify", format_list("These commands have to succeed then:", verify).into()),
            ("salvage", salvage_note(salvage).into()),
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
            ("salvage", salvage_note(salvage).into()),
        ];
        Self::of(&RETRY, &slots)
    }

    /// Returns a person's answer to a developer's question.
    pub fn reply(text: &str) -> Self {
        Self::of(&REPLY, &[("reply", text.into())])
    }

    /// Returns the prompt to continue the work of another session.
    pub fn so_far(changes: &PromptDiff) -> Self {
        Self::of(&SO_FAR, &[("diff", changes.text())])
    }

    /// Returns the prompt for a review.
    pub fn reviewer(brief: &Brief, work: &ReviewedWork<'_>) -> Self {
        if let Some(phase) = brief.phase.as_ref().filter(|phase| !phase.subtasks.is_empty()) {
            return Self::phase_reviewer(brief, phase, work);
        }
        let kind = if work.kind == "general" { String::new() } else { format!(", for {} alone", work.kind) };
        let delta = match work.delta {
            "" => Parts::default(),
            delta => {
                let heading = Parts::from("What has changed since the last review:\n\n");
                heading.with(Parts::fenced_text("diff", delta)).with("\n\n")
            }
        };
        let earlier = work.earlier.iter().map(comment_line);
        let earlier = format_list(
            "Earlier comments; say of each whether it is settled, by `resolved_ids` and `unresolved_ids`:",
            earlier,
        );
        let slots = [
            ("kind", kind.into()),
            ("breadcrumb", brief.breadcrumb().into()),
            ("goal", goal_line(&brief.goal).into()),
            ("section", brief.section.to_fenced()),
            ("acceptance", format_list("It is done when:", &brief.acceptance).into()),
            ("checks", format_list("The checks ended so:", work.checks).into()),
            ("earlier", earlier.into()),
            ("diff", work.diff.text()),
            ("delta", delta),
        ];
        Self::of(&REVIEWER, &slots)
    }

    /// Returns the prompt for a review of everything.
    pub fn final_review(goal: &str, outline: &str, diff: &PromptDiff) -> Self {
        Self::of(&FINAL, &[("goal", goal_line(goal).into()), ("outline", outline.into()), ("diff", diff.text())])
    }

    /// Returns the first prompt of a subtask.
    fn subtask(brief: &Brief, phase: &BriefPhase, feedback: &Feedback, salvage: Option<&str>) -> Self {
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
            ("section", brief.section.to_fenced()),
            ("around", around.into()),
            ("acceptance", format_list("It is done when:", &brief.acceptance).into()),
            ("verify", format_list("These commands have to succeed then:", verify).into()),
            ("salvage", salvage.unwrap_or_default().into()),
            ("feedback", feedback.text("An earlier attempt was not accepted:").into()),
        ];
        Self::of(&SUBTASK, &slots)
    }

    /// Returns the prompt of the reviewer of a phase.
    fn phase_reviewer(brief: &Brief, phase: &BriefPhase, work: &ReviewedWork<'_>) -> Self {
        let kind = if work.kind == "general" { String::new() } else { format!(", for {} alone", work.kind) };
        let earlier = work.earlier.iter().map(comment_line);
        let earlier = format_list(
            "Comments on the attempt before, which was taken back; say of each whether this one settles it, by `resolved_ids` \
             and `unresolved_ids`:",
            earlier,
        );
        let slots = [
            ("kind", kind.into()),
            ("breadcrumb", brief.breadcrumb().into()),
            ("goal", goal_line(&brief.goal).into()),
            ("plan", phase.plan()),
            ("subtasks", format_list("Its subtasks:", &phase.subtasks).into()),
            ("section", brief.section.to_fenced()),
            ("acceptance", format_list("They are done when:", &brief.acceptance).into()),
            ("checks", format_list("The checks ended so:", work.checks).into()),
            ("earlier", earlier.into()),
            ("diff", work.diff.text()),
            ("delta", Parts::default()),
        ];
        Self::of(&PHASE_REVIEWER, &slots)
    }

    /// Returns the first prompt of a code task.
    fn code_task(brief: &Brief, task: &BriefTask, feedback: &Feedback, salvage: Option<&str>) -> Self {
        let verify = brief.verify.iter().map(|line| format!("`{line}`"));
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("section", brief.section.to_fenced()),
            ("constraints", format_list("Keep to this:", &task.constraints).into()),
            ("acceptance", format_list("It is done when:", &brief.acceptance).into()),
            ("related", related_section(task).into()),
            ("verify", format_list("Among others, these commands check it:", verify).into()),
            ("salvage", salvage_note(salvage).into()),
            ("feedback", feedback.text("An earlier attempt was not accepted:").into()),
        ];
        Self::of(&CODE_TASK, &slots)
    }

    /// Returns the prompt for splitting a code task.
    pub fn splitter(brief: &Brief, split: &SplitInput<'_>) -> Self {
        let refused = format_list("Your proposal before was refused:", split.refused);
        let clusters: Vec<Parts> =
            split.clusters.iter().map(|text| Parts::fenced_text("text", text.as_str())).collect();
        let clusters = clusters.into_iter().fold(Parts::default(), |all, one| all.with(one).with("\n\n"));
        let slots = [
            ("breadcrumb", brief.breadcrumb().into()),
            ("section", brief.section.to_fenced()),
            ("acceptance", format_list("It is done when:", &brief.acceptance).into()),
            ("attempts", split.attempts.to_string().into()),
            ("clusters", clusters.trim_end()),
            ("tried", format_list("The attempts:", split.tried).into()),
            ("refused", refused.into()),
            ("most", split.most.to_string().into()),
        ];
        Self::of(&SPLITTER, &slots)
    }

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
        let VerifierTask { id, title, description, constraints, parent, .. } = self.task;
        let task = Parts::from(format!("Task {id}: {title}\n\n"));
        let task = if description.is_empty() {
            task
        } else {
            task.with(Parts::fenced_text("markdown", description.as_str())).with("\n\n")
        };
        let own = self.own.map(|own| format!("{}\n\n", own.trim())).unwrap_or_default();
        [
            ("task", task),
            ("constraints", format_list("Constraints:", constraints).into()),
            ("criteria", format_list("Acceptance criteria:", self.criteria).into()),
            ("parent", others("The parent task, of which this one is a part:", parent.as_slice())),
            ("next", others("The next tasks:", self.next)),
            ("own", own.into()),
            ("diff", self.diff.text()),
        ]
    }
}

fn related_section(task: &BriefTask) -> String {
    let origin = format_list("It was split off a larger task, to settle these findings:", &task.origin);
    format!("{}{origin}", format_list("It is part of something larger; only this task is yours:", &task.related))
}

fn others(heading: &str, tasks: &[Neighbour]) -> Parts {
    let line = |task: &Neighbour| match task.text.trim() {
        "" => format!("`{}`", task.id),
        text => format!("`{}`\n{}", task.id, add_fence("text", text)),
    };
    format_list(heading, tasks.iter().map(line)).into()
}
