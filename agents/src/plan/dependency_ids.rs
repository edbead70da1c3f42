//! The ids of tasks in the text of a `Depends on` line. Knows one line of text and no plan.

use super::id::TaskId;

/// The dependencies of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Each id once, in the order of the text.
    pub(super) ids: Vec<TaskId>,
    /// The line of each id, from 1.
    pub(super) lines: Vec<usize>,
    /// The texts that are not ids, each with its line.
    pub(super) bad: Vec<(String, usize)>,
}

impl Needs {
    /// Adds the ids of a text; if one of its words is not an id, the whole text is bad.
    pub(super) fn read(&mut self, text: &str, line: usize) {
        let visible = without_remarks(text);
        let words = visible.split(|c: char| c.is_whitespace() || ",;&+".contains(c)).map(bare);
        let words: Vec<&str> = words.filter(|word| !word.is_empty() && !is_filler(word)).collect();
        let ids = words.iter().filter_map(|word| word.parse().ok());
        let is_bad = words.iter().any(|word| word.parse::<TaskId>().is_err());
        ids.for_each(|id| self.add(id, line));
        if is_bad {
            self.bad.push((text.trim().to_owned(), line));
        }
    }

    fn add(&mut self, id: TaskId, line: usize) {
        if !self.ids.contains(&id) {
            self.ids.push(id);
            self.lines.push(line);
        }
    }
}

/// Returns the ids of a list item, without the description after them: `Task 1` for `Task 1: Read`.
pub(super) fn of_item(text: &str) -> &str {
    let end = [": ", " - ", " – ", " — "].iter().filter_map(|mark| text.find(mark)).min();
    end.map_or(text, |end| &text[..end])
}

/// True if the list of ids continues on the next line.
pub(super) fn continues(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with([',', ':', '&', '+', ';']) || text.ends_with(" and")
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "`*_#.:".contains(c))
}

fn is_filler(word: &str) -> bool {
    ["and", "task", "tasks", "subtask", "subtasks"].iter().any(|filler| word.eq_ignore_ascii_case(filler))
}

/// Returns the text without the parts in round brackets.
pub(super) fn without_remarks(text: &str) -> String {
    let mut depth = 0_usize;
    let mut visible = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => visible.push(c),
            _ => {}
        }
    }
    visible
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", &["1"])]
    #[case("Task 1, Task 2a and 2.1", &["1", "2a", "2.1"])]
    #[case("`1`; #03 & tasks 4.", &["1", "3", "4"])]
    #[case("1 (it needs the table), 2B", &["1", "2b"])]
    #[case("1, 1, 01", &["1"])]
    fn ids_of_a_line(#[case] text: &str, #[case] ids: &[&str]) {
        let mut needs = Needs::default();
        needs.read(text, 7);
        assert_eq!(needs.ids.iter().map(TaskId::as_str).collect::<Vec<_>>(), ids);
        assert_eq!((needs.lines, needs.bad), (vec![7; ids.len()], vec![]));
    }

    #[rstest]
    #[case("the parser", &[])]
    #[case("1 because of it", &["1"])]
    #[case("2a-2c", &[])]
    fn what_is_not_an_id_is_bad(#[case] text: &str, #[case] ids: &[&str]) {
        let mut needs = Needs::default();
        needs.read(text, 7);
        assert_eq!(needs.ids.iter().map(TaskId::as_str).collect::<Vec<_>>(), ids);
        assert_eq!(needs.bad, [(text.to_owned(), 7)]);
    }
}
