//! Renders a proposal as markdown whose tasks, criteria and commands read back unchanged. Pure.

use super::error::PlanError;
use super::markdown::{self, code, fenced, one_line};
use super::proposal::{PlanProposal, ProposedTask};
use super::proposal_check as check;
use super::proposal_problem::ProposalProblem;
use super::task::{Plan, Task};
use super::warning::PlanWarning;

/// The maximum length of the title, in characters.
const TITLE: usize = 80;

impl PlanProposal {
    /// Renders the proposal as the markdown of a plan, from which [`Plan::parse`] reads the same tasks, acceptance
    /// criteria and commands. Texts that markdown would read as something else are escaped; descriptions that would end
    /// their section are fenced.
    ///
    /// ```
    /// # use superstep_agents as superstep;
    /// # use superstep::plan::{Plan, PlanProposal};
    /// let proposal: PlanProposal = serde_json::from_str(
    ///     r##"{"goal": "Know the tides", "tasks": [{"id": "1", "title": "Read", "description": "# Read *it*",
    ///          "verify_commands": ["test -s notes"]}]}"##,
    /// )?;
    /// let plan = Plan::parse(proposal.render()?)?;
    /// assert_eq!(plan.task(0)?.verify[0].command, "test -s notes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PlanError::Proposal`] with every problem at once.
    pub fn render(&self) -> Result<String, PlanError> {
        let tidy = check::tidy(self).map_err(|problems| PlanError::Proposal { problems })?;
        let written = [false, true].map(|strict| Writer { strict }.plan(&tidy));
        let faithful = written.into_iter().find(|markdown| reads_back(markdown, &tidy));
        faithful.ok_or_else(|| PlanError::Proposal { problems: vec![ProposalProblem::NotMarkdown] })
    }
}

/// True if the markdown reads back as the proposal.
fn reads_back(markdown: &str, proposal: &PlanProposal) -> bool {
    let Ok(plan) = Plan::parse(markdown) else { return false };
    let only_jumps = plan.warnings().iter().all(|warning| matches!(warning, PlanWarning::NumberJump { .. }));
    let same = plan.tasks().zip(&proposal.tasks).all(|(task, proposed)| is_same(&task, proposed));
    only_jumps && plan.has_task_headings() && plan.task_count() == proposal.tasks.len() && same
}

fn is_same(task: &Task<'_>, proposed: &ProposedTask) -> bool {
    let commands = task.verify.iter().map(|command| &command.command);
    let needs = task.depends_on.map(|ids| ids.iter().map(ToString::to_string).collect());
    task.id.as_str() == proposed.id
        && task.title == proposed.title
        && task.acceptance == proposed.acceptance
        && commands.eq(&proposed.verify_commands)
        && needs == proposed.depends_on
        && task.files == all_files(proposed)
        && !task.changes_nothing
}

struct Writer {
    /// Set to escape and fence everything.
    strict: bool,
}

impl Writer {
    fn plan(&self, proposal: &PlanProposal) -> String {
        let mut parts = vec![
            format!("# Plan: {}\n", self.line(&title(&proposal.goal))),
            format!("**Goal:** {}\n", self.line(&proposal.goal)),
        ];
        if !proposal.approach.is_empty() {
            parts.push("**Approach:**\n".to_owned());
            parts.push(self.block(&proposal.approach));
        }
        parts.extend(self.list("Success criteria", &proposal.success_criteria));
        parts.extend(proposal.tasks.iter().flat_map(|task| self.task(task)));
        parts.join("\n")
    }

    fn task(&self, task: &ProposedTask) -> Vec<String> {
        let title = markdown::line(&task.title, |title| !self.strict && is_plain_title(title));
        let mut parts = vec![format!("### Task {}: {title}\n", task.id)];
        if !task.description.is_empty() {
            parts.push(self.block(&task.description));
        }
        parts.extend(files(task));
        parts.extend(task.depends_on.as_ref().map(|needs| depends_on(needs)));
        parts.extend(task.est_size.as_ref().map(|size| format!("**Size:** {}\n", self.line(size))));
        parts.extend(self.list("Acceptance", &task.acceptance));
        if !task.verify_commands.is_empty() {
            parts.push("**Verify:**\n".to_owned());
            parts.push(fenced("sh", &task.verify_commands.join("\n")));
        }
        parts
    }

    fn list(&self, label: &str, items: &[String]) -> Vec<String> {
        if items.is_empty() {
            return Vec::new();
        }
        let items: String = items.iter().map(|item| format!("- {}\n", self.line(item))).collect();
        vec![format!("**{label}:**\n"), items]
    }

    fn line(&self, text: &str) -> String {
        markdown::line(text, |text| !self.strict && markdown::is_plain_item(text))
    }

    /// Returns a text of many lines, fenced unless it is self-contained.
    fn block(&self, text: &str) -> String {
        let is_plain = !self.strict && is_self_contained(text);
        if is_plain { format!("{}\n", text.trim_end()) } else { fenced("markdown", text) }
    }
}

fn depends_on(needs: &[String]) -> String {
    let ids = if needs.is_empty() { "none".to_owned() } else { needs.join(", ") };
    format!("**Depends on:** {ids}\n")
}

/// Returns the files of a task, each once.
fn all_files(task: &ProposedTask) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for file in task.files_create.iter().chain(&task.files_modify).chain(&task.files) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    files
}

/// Returns the files of a task: on one line, or as a list that separates created from modified ones.
fn files(task: &ProposedTask) -> Vec<String> {
    if task.files_create.is_empty() && task.files_modify.is_empty() {
        let files: Vec<String> = task.files.iter().map(|file| code(file)).collect();
        return if files.is_empty() { Vec::new() } else { vec![format!("**Files:** {}\n", files.join(", "))] };
    }
    let line = |word: &'static str| move |file: &String| format!("- {word}: {}\n", code(file));
    let created = task.files_create.iter().map(line("Create"));
    let others = task.files.iter().map(|file| format!("- {}\n", code(file)));
    let lines: String = created.chain(task.files_modify.iter().map(line("Modify"))).chain(others).collect();
    vec!["**Files:**\n".to_owned(), lines]
}

/// Returns the first sentence of the goal, shortened.
fn title(goal: &str) -> String {
    let sentence = goal.split_once(". ").map_or(goal, |(first, _)| first).trim_end_matches('.');
    if sentence.chars().count() <= TITLE {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(TITLE).collect();
    format!("{}…", cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words))
}

fn is_plain_title(title: &str) -> bool {
    let plan = Plan::parse(format!("### Task 1: {title}\n"));
    plan.is_ok_and(|plan| plan.task(0).is_ok_and(|task| task.title == one_line(title)) && plan.has_task_headings())
}

fn declares_nothing(task: &Task<'_>) -> bool {
    task.depends_on.is_none() && task.files.is_empty()
}

/// True if a text in a section adds nothing to the task and hides nothing after it.
fn is_self_contained(text: &str) -> bool {
    let markdown = format!("### Task 1: a\n\n{text}\n\n### Task 2: b\n");
    let Ok(plan) = Plan::parse(markdown.as_str()) else { return false };
    let first = plan.tasks().next();
    let adds_nothing = first.is_some_and(|task| {
        let is_whole = markdown.len() == task.section.len() + "### Task 2: b\n".len();
        is_whole
            && task.acceptance.is_empty()
            && task.verify.is_empty()
            && !task.changes_nothing
            && declares_nothing(&task)
    });
    adds_nothing && plan.task_count() == 2 && plan.warnings().is_empty()
}
