//! The message of a commit: a template with slots, filled from the issue and the task. Pure.

use serde::{Deserialize, Serialize};

/// The template of commit messages: `commit_template` in the profile.
///
/// `{title}`, `{task}` and `{issue}` are replaced by the title and id of the task and the id of the issue. Without an
/// issue, `{issue}` goes with the brackets around it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CommitTemplate(String);

/// The values of the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitSlots<'a> {
    /// The id of the issue.
    pub(crate) issue: Option<&'a str>,
    /// The title of the task.
    pub(crate) title: &'a str,
    /// The id of the task.
    pub(crate) task: &'a str,
}

/// The names of the slots.
const SLOTS: [&str; 3] = ["issue", "title", "task"];

impl Default for CommitTemplate {
    fn default() -> Self {
        Self("feat({issue}): {title} (task {task})".to_owned())
    }
}

impl CommitTemplate {
    /// Reads a template.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('{') {
            let Some((slot, after)) = after.split_once('}') else { break };
            if !SLOTS.contains(&slot) {
                return Err(format!("{{{slot}}} is not a slot; there are {{issue}}, {{title}} and {{task}}"));
            }
            rest = after;
        }
        let subject = text.lines().next().unwrap_or_default();
        if !subject.contains("{title}") && !subject.contains("{task}") {
            return Err("its first line has neither {title} nor {task}".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the template of a run that was started before there were any: its commits keep the form of the first.
    pub(crate) fn of_old_runs() -> Self {
        Self(String::new())
    }

    pub(crate) fn is_of_old_runs(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the message for a task.
    pub(crate) fn fill(&self, slots: CommitSlots<'_>) -> String {
        let CommitSlots { issue, title, task } = slots;
        if self.is_of_old_runs() {
            let body = if title.is_empty() { String::new() } else { format!("\n\n{title}") };
            return format!("feat({}): complete task {task}{body}", issue.unwrap_or("unknown"));
        }
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let (title, text) = match title.is_empty() {
            true => (format!("complete task {task}"), self.0.replace("{title} (task {task})", "{title}")),
            false => (title, self.0.clone()),
        };
        let text = match issue {
            Some(_) => text,
            None => without_issue(&text),
        };
        fill_slots(&text, &[("issue", issue.unwrap_or_default()), ("title", &title), ("task", task)])
    }
}

/// Returns the message for a task that is no part of a plan.
pub(crate) fn of_lone_task(template: &CommitTemplate, title: &str, task: &str) -> String {
    let title = if title.trim().is_empty() { task } else { title.trim() };
    if *template == CommitTemplate::default() {
        return format!("feat: {title}");
    }
    template.fill(CommitSlots { issue: None, title, task })
}

/// Replaces each slot once, so that a value with braces stays as it is.
fn fill_slots(text: &str, values: &[(&str, &str)]) -> String {
    let (mut message, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        message.push_str(before);
        let known = values.iter().find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix('}')?)));
        match known {
            Some((value, after)) => {
                message.push_str(value);
                rest = after;
            }
            None => {
                message.push('{');
                rest = after;
            }
        }
    }
    message + rest
}

/// Returns the template without the slot of the issue, its brackets and the spaces and marks that it leaves.
fn without_issue(text: &str) -> String {
    let bare = ["#{issue}, ", "({issue})", "[{issue}]", "<{issue}>", "#{issue}", "{issue}"];
    let text = bare.iter().fold(text.to_owned(), |text, slot| text.replace(slot, ""));
    let lines = text.lines().map(|line| {
        let line = line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        line.trim_start_matches([':', '-', ' ']).trim_end_matches([' ', '-']).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::standard(
        "feat({issue}): {title} (task {task})",
        "feat(CLK-7): Print {the} tides (task 2a)",
        "feat: Print {the} tides (task 2a)"
    )]
    #[case::brackets("[{issue}] {title}", "[CLK-7] Print {the} tides", "Print {the} tides")]
    #[case::prefix("{issue}: {title}", "CLK-7: Print {the} tides", "Print {the} tides")]
    #[case::body(
        "{title}\n\nRefs: #{issue}, task {task}",
        "Print {the} tides\n\nRefs: #CLK-7, task 2a",
        "Print {the} tides\n\nRefs: task 2a"
    )]
    fn a_template_is_filled(#[case] template: &str, #[case] with: &str, #[case] without: &str) {
        let template = CommitTemplate::parse(template).unwrap();
        let fill = |issue| template.fill(CommitSlots { issue, title: "Print\n{the} tides ", task: "2a" });
        assert_eq!((fill(Some("CLK-7")), fill(None)), (with.to_owned(), without.to_owned()));
    }

    #[test]
    fn a_task_without_a_title_is_named_by_its_id() {
        let fill = |issue| CommitTemplate::default().fill(CommitSlots { issue, title: " ", task: "3" });
        assert_eq!((fill(Some("A")), fill(None)), ("feat(A): complete task 3".into(), "feat: complete task 3".into()));
    }

    #[rstest]
    #[case("{titel}", "{titel} is not a slot; there are {issue}, {title} and {task}")]
    #[case("feat: work", "its first line has neither {title} nor {task}")]
    #[case("", "its first line has neither {title} nor {task}")]
    fn a_template_that_cannot_be_filled_is_refused(#[case] template: &str, #[case] problem: &str) {
        assert_eq!(CommitTemplate::parse(template).unwrap_err(), problem);
    }
}
