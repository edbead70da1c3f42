//! Validates a proposed plan and normalizes its texts. Pure.

use std::collections::HashSet;

use super::command::hidden_char;
use super::declared;
use super::id::TaskId;
use super::markdown::{one_line, with_line_feeds};
use super::proposal::{PlanProposal, ProposedTask};
use super::proposal_problem::ProposalProblem;

/// Returns the proposal with one-line texts on one line, empty ones dropped and ids in their normal form.
///
/// # Errors
///
/// Every problem, in the order of the tasks.
pub(super) fn tidy(proposal: &PlanProposal) -> Result<PlanProposal, Vec<ProposalProblem>> {
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
        let mut command = text.trim();
        while let Some(rest) = command.strip_prefix("$ ") {
            command = rest.trim_start();
        }
        if let Some(why) = reason_against(command) {
            self.problems.push(ProposalProblem::BadCommand { id: id.to_owned(), command: command.to_owned(), why });
        }
        (!command.is_empty()).then(|| command.to_owned())
    }

    fn lines(&mut self, place: &str, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.line(place, text)).filter(|text| !text.is_empty()).collect()
    }

    fn files(&mut self, place: &str, texts: &[String]) -> Vec<String> {
        self.lines(place, texts).iter().filter_map(|text| declared::of_code(text)).collect()
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
