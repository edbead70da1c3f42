//! Renders a proposed plan as markdown whose tasks, criteria and commands read back unchanged; validates it first. Pure.

use std::collections::HashSet;

use superstep_base::text::first_chars;

use super::blocks::{self, Kind};
use super::command::{hidden_char, without_prompt};
use super::error::{PlanError, PlanWarning};
use super::files;
use super::id::TaskId;
use super::submission::{PlanProposal, ProposalProblem, ProposedTask};
use super::task::{Plan, Task};

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
        let tidy = tidy(self).map_err(|problems| PlanError::Proposal { problems })?;
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
        let title = line(&task.title, |title| !self.strict && is_plain_title(title));
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
            parts.push(code_block("sh", &task.verify_commands.join("\n")));
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
        line(text, |text| !self.strict && is_plain_item(text))
    }

    /// Returns a text of many lines, fenced unless it is self-contained.
    fn block(&self, text: &str) -> String {
        let is_plain = !self.strict && is_self_contained(text);
        if is_plain { format!("{}\n", text.trim_end()) } else { code_block("markdown", text) }
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
    let cut = first_chars(sentence, TITLE);
    if cut == sentence {
        return sentence.to_owned();
    }
    format!("{}…", cut.rsplit_once(' ').map_or(cut, |(words, _)| words))
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

/// Returns a text of one line unchanged if `reads_back` accepts it, otherwise with every punctuation mark escaped.
fn line(text: &str, reads_back: impl Fn(&str) -> bool) -> String {
    if reads_back(text) { text.to_owned() } else { escape(text) }
}

/// True if the text reads back unchanged as a list item.
fn is_plain_item(text: &str) -> bool {
    let blocks = blocks::blocks(&format!("- {text}\n"));
    let [block] = blocks.as_slice() else { return false };
    let Kind::List(list) = &block.kind else { return false };
    let [item] = list.items.as_slice() else { return false };
    match item.as_slice() {
        [only] => {
            matches!(&only.kind, Kind::Paragraph(lines) if matches!(lines.as_slice(), [one] if one.text() == text))
        }
        _ => false,
    }
}

fn escape(text: &str) -> String {
    let escape = |c: char| if c.is_ascii_punctuation() { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escape).collect()
}

/// Returns a text on one line, with single spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a fenced code block whose fence is longer than any in the text.
fn code_block(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Returns a text of one line as a code span.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let needs_room = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    if needs_room { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// Returns the text with every line end as a line feed.
fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns the proposal with one-line texts on one line, empty ones dropped and ids in their normal form.
///
/// # Errors
///
/// Every problem, in the order of the tasks.
fn tidy(proposal: &PlanProposal) -> Result<PlanProposal, Vec<ProposalProblem>> {
    let mut check = Check::default();
    let tidy = check.plan(proposal);
    if check.problems.is_empty() { Ok(tidy) } else { Err(check.problems) }
}

#[derive(Default)]
struct Check {
    problems: Vec<ProposalProblem>,
    known: HashSet<String>,
}

impl Check {
    fn plan(&mut self, proposal: &PlanProposal) -> PlanProposal {
        let goal = self.line("the goal", &proposal.goal);
        self.problems.extend(goal.is_empty().then_some(ProposalProblem::NoGoal));
        self.problems.extend(proposal.tasks.is_empty().then_some(ProposalProblem::NoTasks));
        PlanProposal {
            goal,
            approach: self.block("the approach", &proposal.approach),
            success_criteria: self.lines("the success criteria", &proposal.success_criteria),
            tasks: proposal.tasks.iter().enumerate().map(|(index, task)| self.task(index + 1, task)).collect(),
        }
    }

    fn task(&mut self, place: usize, task: &ProposedTask) -> ProposedTask {
        let id = self.id(place, &task.id);
        let title = self.line(&format!("the title of task {id}"), &task.title);
        self.problems.extend(title.is_empty().then(|| ProposalProblem::NoTitle { id: id.clone() }));
        let depends_on = task.depends_on.as_ref().map(|needs| self.dependencies(&id, needs));
        let verify_commands = task.verify_commands.iter().filter_map(|command| self.command(&id, command)).collect();
        let in_task = |what: &str| format!("{what} of task {id}");
        let size = task.est_size.as_deref().map(|size| self.line(&in_task("the size"), size));
        let tidy = ProposedTask {
            title,
            depends_on,
            verify_commands,
            description: self.block(&in_task("the description"), &task.description),
            files_create: self.files(&in_task("a file name"), &task.files_create),
            files_modify: self.files(&in_task("a file name"), &task.files_modify),
            files: self.files(&in_task("a file name"), &task.files),
            acceptance: self.criteria(&in_task("the acceptance"), &task.acceptance),
            est_size: size.filter(|size| !size.is_empty()),
            id,
        };
        self.known.insert(tidy.id.clone());
        tidy
    }

    fn id(&mut self, place: usize, text: &str) -> String {
        let Ok(id) = text.trim().parse::<TaskId>() else {
            self.problems.push(ProposalProblem::BadId { place, id: text.to_owned() });
            return text.trim().to_owned();
        };
        let orphan = id.parent().map(String::from).filter(|parent| !self.known.contains(parent));
        let id = String::from(id);
        self.problems.extend(orphan.map(|parent| ProposalProblem::Orphan { id: id.clone(), parent }));
        self.problems.extend(self.known.contains(&id).then(|| ProposalProblem::Duplicate { id: id.clone() }));
        id
    }

    fn dependencies(&mut self, id: &str, needs: &[String]) -> Vec<String> {
        let mut known = Vec::new();
        for needs in needs.iter().filter(|needs| !needs.trim().eq_ignore_ascii_case("none")) {
            let written = self.dependency(id, needs);
            if !known.contains(&written) {
                known.push(written);
            }
        }
        known
    }

    fn dependency(&mut self, id: &str, needs: &str) -> String {
        let needs = needs.trim();
        let needs = needs.strip_prefix("Task ").unwrap_or(needs).trim();
        let written = needs.parse::<TaskId>().map_or_else(|_| needs.to_owned(), String::from);
        if !self.known.contains(&written) {
            self.problems.push(ProposalProblem::UnknownDependency { id: id.to_owned(), needs: written.clone() });
        }
        written
    }

    fn command(&mut self, id: &str, text: &str) -> Option<String> {
        let command = without_prompt(text);
        if let Some(why) = reason_against(command) {
            self.problems.push(ProposalProblem::BadCommand { id: id.to_owned(), command: command.to_owned(), why });
        }
        (!command.is_empty()).then(|| command.to_owned())
    }

    fn lines(&mut self, place: &str, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.line(place, text)).filter(|text| !text.is_empty()).collect()
    }

    fn files(&mut self, place: &str, texts: &[String]) -> Vec<String> {
        self.lines(place, texts).iter().filter_map(|text| files::of_code(text)).collect()
    }

    fn criteria(&mut self, place: &str, texts: &[String]) -> Vec<String> {
        self.lines(place, texts)
            .iter()
            .map(|text| without_box(text).to_owned())
            .filter(|text| !text.is_empty())
            .collect()
    }

    fn line(&mut self, place: &str, text: &str) -> String {
        self.control(place, text);
        one_line(text)
    }

    fn block(&mut self, place: &str, text: &str) -> String {
        self.control(place, text);
        with_line_feeds(text).trim_matches('\n').trim_end().to_owned()
    }

    fn control(&mut self, place: &str, text: &str) {
        let found = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
        let problem = found.map(|character| ProposalProblem::ControlCharacter { place: place.to_owned(), character });
        self.problems.extend(problem);
    }
}

fn reason_against(command: &str) -> Option<&'static str> {
    let ends_open = (command.len() - command.trim_end_matches('\\').len()) % 2 == 1;
    if command.contains(['\n', '\r']) {
        Some("has several lines; write one command, or join them with `&&`")
    } else if hidden_char(command).is_some() {
        Some("holds a control character or one that cannot be seen")
    } else if command.starts_with('#') {
        Some("is a comment")
    } else if ends_open {
        Some("ends in a backslash")
    } else {
        None
    }
}

fn without_box(text: &str) -> &str {
    let mut text = text;
    while let Some(rest) = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| text.strip_prefix(mark)) {
        if !rest.is_empty() && !rest.starts_with(' ') {
            break;
        }
        text = rest.trim_start();
    }
    text
}
