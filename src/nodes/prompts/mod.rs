//! What agents are told: prompt files with named slots, and the functions that fill them from plain data. A prompt knows the
//! file it was made from and that file's hash, which the journal keeps with each call. Pure; they know no driver and no graph.

mod diff;
mod fence;
mod parts;
mod section;
mod template;

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use diff::Diff;
pub use section::Section;

use super::contents::{Content, ContentError, Contents};
use crate::plan::{Comment, Issue};
use fence::fenced;
pub(super) use parts::Parts;
use template::{Template, listed};

macro_rules! template {
    ($file:literal) => {
        Template { name: $file, text: include_str!(concat!($file, ".md")) }
    };
}

mod code_tasks;
mod phases;
pub(super) mod verifiers;

pub use code_tasks::{BriefTask, ToSplit};
pub use phases::BriefPhase;

const FRAME: Template = template!("frame.system");
const ARCHITECT: Template = template!("architect");
const FORMER: Template = template!("architect-former");
const WISHES: Template = template!("architect-wishes");
const DEVELOPER: Template = template!("developer");
const RETRY: Template = template!("developer-retry");
const REPLY: Template = template!("developer-reply");
const SO_FAR: Template = template!("developer-so-far");
const REVIEWER: Template = template!("reviewer");
const FINAL: Template = template!("final");
const REPAIR: Template = template!("repair");

/// A text for an agent, and where it comes from.
///
/// Long texts in it are [contents](Content): the journal has their hashes, and the folder [`Contents`] their text. A prompt can
/// be made from a content's hash alone; its text is read when the agent is asked.
///
/// ```
/// # let home = tempfile::tempdir()?;
/// use superstep::nodes::{Contents, Prompt};
/// let contents = Contents::at(home.path());
/// let plan = contents.put("# Clock\n")?;
/// let prompt = Prompt::new("mine", "Do the first task of this plan:\n\n").with_fenced("markdown", plan).with_text("\n");
/// assert_eq!(prompt.resolve(&contents)?, "Do the first task of this plan:\n\n```markdown\n# Clock\n```\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    name: String,
    hash: String,
    text: Parts,
}

impl Prompt {
    /// Returns a prompt of your own. The name tells people what it is.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { name: name.into(), hash: crate::plan::hash(&text), text: text.into() }
    }

    /// Returns the prompt with a content at its end.
    #[must_use]
    pub fn with_content(self, content: Content) -> Self {
        Self { text: self.text.with(content), ..self }
    }

    /// Returns the prompt with a content at its end, as a block of data of a kind such as `markdown` or `diff`.
    #[must_use]
    pub fn with_fenced(self, kind: &str, content: Content) -> Self {
        Self { text: self.text.with(Parts::fenced_content(kind, content)), ..self }
    }

    /// Returns the prompt with a text at its end.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Self { text: self.text.with(text.into()), ..self }
    }

    fn of(template: &Template, slots: &[(&str, Parts)]) -> Self {
        Self {
            name: template.name.into(),
            hash: crate::plan::hash(template.text),
            text: template.fill(slots).trim_end().with("\n"),
        }
    }

    /// Returns the name of the file it was made from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the hash of that file, as text.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the text; in the place of a content whose text is not known, its hash. [`resolve`](Self::resolve) returns all.
    pub fn text(&self) -> Cow<'_, str> {
        self.text.text()
    }

    /// Returns the text as an agent gets it. Blocks where it reads contents.
    ///
    /// # Errors
    /// As [`Contents::get`].
    pub fn resolve(&self, contents: &Contents) -> Result<String, ContentError> {
        self.text.resolve(contents)
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.text
    }

    /// Returns a prompt that says both.
    #[must_use]
    pub fn followed_by(&self, other: &Self) -> Self {
        Self { text: self.text.clone().with("\n\n").with(other.text.clone()), ..self.clone() }
    }

    /// Returns what an agent in a role of the usual ones is told first: `architect`, `developer`, `reviewer`; others get the
    /// rules for everybody.
    pub fn system(role: &str, tool: &str) -> Self {
        let duty = match role {
            "architect" => "You plan: you read the code, change nothing, and hand over a plan.",
            "developer" => "You do one task of the plan: you change files and make its checks succeed.",
            "reviewer" => "You judge the work of others: you read, change nothing, and hand over a review.",
            _ => "You do what you are told below.",
        };
        Self::of(&FRAME, &[("role", role.into()), ("duty", duty.into()), ("tool", tool.into())])
    }

    /// Returns the wish for a result that can be read.
    pub fn repair(tool: &str, why: &str) -> Self {
        Self::of(&REPAIR, &[("tool", tool.into()), ("why", why.into())])
    }

    /// Returns the wish for a plan; `former`: the plan before; `issues`: what has to be changed, or heeded.
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

    /// Returns what a developer has to know who goes on with the work of another session.
    pub fn so_far(changes: &Diff) -> Self {
        Self::of(&SO_FAR, &[("diff", changes.text())])
    }

    /// Returns the wish for a review.
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
        let earlier = work.earlier.iter().map(told);
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

    /// Returns the wish for a review of everything.
    pub fn final_review(goal: &str, outline: &str, diff: &Diff) -> Self {
        Self::of(&FINAL, &[("goal", goal_line(goal).into()), ("outline", outline.into()), ("diff", diff.text())])
    }
}

/// What whoever works on a task, or judges it, has to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The task's number.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Its place among the tasks, from 1.
    pub position: usize,
    /// How many tasks there are.
    pub total: usize,
    /// What the plan is for.
    pub goal: String,
    /// What the plan says of it.
    pub section: Section,
    /// How one can tell that it is done.
    pub acceptance: Vec<String>,
    /// The commands that have to succeed then.
    pub verify: Vec<String>,
    /// The other tasks, a line each; empty: not told.
    pub around: String,
    /// The file that holds the whole plan, if there is one.
    #[serde(default)]
    pub plan_file: Option<PathBuf>,
    /// The place among the phases, of a subtask or of a phase that is reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<BriefPhase>,
    /// The place of a code task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_task: Option<BriefTask>,
}

impl Brief {
    /// Returns the number of the phase that is judged as a whole; none: the brief is about a task.
    pub(in crate::nodes) fn judged_phase(&self) -> Option<u32> {
        self.phase.as_ref().filter(|phase| !phase.subtasks.is_empty()).map(|phase| phase.number)
    }

    fn breadcrumb(&self) -> String {
        let Self { id, title, position, total, phase, code_task, .. } = self;
        if code_task.is_some() {
            return format!("Task {id}: {title}");
        }
        match phase {
            None => format!("Task {id}, {position} of {total}"),
            Some(phase) if phase.subtasks.is_empty() => format!("Subtask {id}: {title}\n\n{}", phase.line()),
            Some(phase) => phase.line(),
        }
    }
}

fn goal_line(goal: &str) -> String {
    if goal.is_empty() { String::new() } else { format!("Goal: {goal}\n\n") }
}

/// Why an attempt was not accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// What a reviewer found.
    pub comments: Vec<Comment>,
    /// What failed: checks with the end of their output, an attempt without changes.
    pub failures: Vec<String>,
    /// What a person said.
    pub note: String,
    /// What verifiers found, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

impl Feedback {
    /// Returns whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.comments.is_empty() && self.failures.is_empty() && self.note.is_empty() && self.findings.is_empty()
    }

    fn text(&self, heading: &str) -> String {
        let heading = |when: bool| if when && !heading.is_empty() { format!("{heading}\n\n") } else { String::new() };
        let comments = listed("A reviewer found:", self.comments.iter().map(told));
        let failures: String = self.failures.iter().map(|failure| format!("{}\n\n", fenced("text", failure))).collect();
        let failures = if failures.is_empty() { failures } else { format!("This failed:\n\n{failures}") };
        let note = if self.note.is_empty() { String::new() } else { format!("A person says: {}\n\n", self.note) };
        let findings = match self.findings.join("\n") {
            lines if lines.is_empty() => lines,
            lines => format!("Verifiers found:\n\n{}\n\n", fenced("text", &lines)),
        };
        let text = [comments, findings, failures, note].concat();
        format!("{}{text}", heading(!text.is_empty()))
    }
}

/// Where the work of an attempt that was taken back is kept.
fn salvaged(at: Option<&str>) -> String {
    let told = |at| {
        format!("The work of the attempt before was taken back; it is kept in git as `{at}` (`git show {at}`).\n\n")
    };
    at.map(told).unwrap_or_default()
}

/// What a reviewer judges.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// What the review is about: `general`, `security`.
    pub kind: &'a str,
    /// All changes of the task.
    pub diff: &'a Diff,
    /// Those since the last review; empty: there was none.
    pub delta: &'a str,
    /// How the checks ended, a line each.
    pub checks: &'a [String],
    /// Comments that are still open.
    pub earlier: &'a [Comment],
}

fn told(comment: &Comment) -> String {
    let Comment { id, severity, file, line, issue, why, fix } = comment;
    let place = match (file, line) {
        (Some(file), Some(line)) => format!(" {file}:{line}"),
        (Some(file), None) => format!(" {file}"),
        (None, _) => String::new(),
    };
    let more = |label: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {label}: {text}") };
    format!("[{id}] ({severity}){place}: {issue}{}{}", more("Why", why), more("To do", fix))
}

#[cfg(test)]
mod tests;
