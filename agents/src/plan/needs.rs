//! The ids of tasks in the text of a `Depends on` line. Knows one line of text and no plan.

use super::id::TaskId;

/// The dependencies of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The tasks that the text names, each with its line.
    pub(super) named: Vec<(TaskReference, usize)>,
    /// Each id once, in the order of the text; empty until [`named`](Self::named) is resolved.
    pub(super) ids: Vec<TaskId>,
    /// The line of each id, from 1.
    pub(super) lines: Vec<usize>,
    /// The texts that are not ids, each with its line.
    pub(super) bad: Vec<(String, usize)>,
    /// The texts beside the ids that are ignored, each with its line.
    pub(super) remarks: Vec<(String, usize)>,
}

/// Tasks as a text names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskReference {
    /// `3`: the task, or the tasks below this number.
    Task(TaskId),
    /// `1–7`.
    Range(TaskId, TaskId),
    /// `Phase 2`.
    Phase(TaskId),
    /// `all previous tasks`.
    Earlier,
    /// `the previous task`.
    Previous,
}

/// A word of a text, or what is between the words.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Separator,
    /// `–` or `to`, between the ends of a range.
    Dash,
    Word(String),
    Range(TaskId, TaskId),
}

impl Needs {
    /// Reads a text: ids, ranges and remarks. Without any id, and unless it means "none", the whole text is bad.
    pub(super) fn read(&mut self, text: &str, line: usize) {
        let visible = without_remarks(text);
        let tokens = tokens(&visible);
        let Some(first) = tokens.iter().find(|token| !matches!(token, Token::Separator | Token::Dash)) else {
            return self.is_none_beside_brackets(text, line);
        };
        if is_none(first) && !tokens.iter().any(|token| id(token).is_some() && is_none_word_alone(first)) {
            let rest: Vec<String> = tokens.iter().skip_while(|token| *token != first).skip(1).map(token_text).collect();
            let rest = rest.join(" ");
            let rest = rest.trim_matches(|c: char| !c.is_alphanumeric());
            self.remarks.extend((!rest.is_empty() && !is_only_filler(rest)).then(|| (rest.to_owned(), line)));
            return self.is_none_beside_brackets(text, line);
        }
        if let Some(named) = relative(&tokens) {
            return self.named.push((named, line));
        }
        let (named, remarks) = read_references(&tokens);
        if named.is_empty() {
            return self.bad.push((text.trim().to_owned(), line));
        }
        self.named.extend(named.into_iter().map(|named| (named, line)));
        self.remarks.extend(remarks.into_iter().map(|remark| (remark, line)));
        self.remarks
            .extend(brackets(text).filter(|remark| remark.contains(char::is_numeric)).map(|remark| (remark, line)));
    }

    fn is_none_beside_brackets(&mut self, text: &str, line: usize) {
        self.remarks.extend(brackets(text).map(|remark| (remark, line)));
    }

    /// Adds an id that the text names; each id once.
    pub(super) fn add(&mut self, id: TaskId, line: usize) {
        if !self.ids.contains(&id) {
            self.ids.push(id);
            self.lines.push(line);
        }
    }
}

/// Returns what the tokens name, and the remarks among them.
fn read_references(tokens: &[Token]) -> (Vec<TaskReference>, Vec<String>) {
    let (mut found, mut remarks): (Vec<TaskReference>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
    // A remark ends at a separator or at `task N`; `phases` applies to the ids after it, `phase` to one.
    let (mut is_remark, mut are_phases, mut is_plural) = (false, false, false);
    let mut rest = tokens;
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        // `task` and `phase` change the meaning of an id only directly before it.
        let next_is_id = after.first().is_some_and(|next| id(next).is_some() || matches!(next, Token::Range(..)));
        match token {
            Token::Separator => is_remark = false,
            Token::Word(word) if is_task(word) && next_is_id => (is_remark, are_phases) = (false, false),
            Token::Word(word) if is_phase(word) && next_is_id && !is_remark => {
                (are_phases, is_plural) = (true, word.ends_with(['s', 'S']));
            }
            Token::Word(word) if !is_remark && (is_filler(word) || is_task(word)) => {}
            Token::Range(first, last) if !is_remark => found.push(TaskReference::Range(first.clone(), last.clone())),
            Token::Word(word) if !is_remark && word.parse::<TaskId>().is_ok() => {
                let Ok(first) = word.parse::<TaskId>() else { continue };
                match end_of_range(after) {
                    // A range with spaces around its dash consists of several tokens.
                    Some((last, after)) => {
                        rest = after;
                        found.push(TaskReference::Range(first, last));
                    }
                    // After a singular `phase` and its id, numbers are tasks again.
                    None if are_phases => {
                        found.push(TaskReference::Phase(first));
                        are_phases = is_plural;
                    }
                    None => found.push(TaskReference::Task(first)),
                }
            }
            // Any other word starts a remark, which takes in the ids after it.
            Token::Dash | Token::Word(_) | Token::Range(..) => {
                if !is_remark {
                    remarks.push(Vec::new());
                }
                is_remark = true;
                remarks.last_mut().into_iter().for_each(|remark| remark.push(token_text(token)));
            }
        }
    }
    // Punctuation alone is not a remark.
    let remarks = remarks.into_iter().map(|words| words.join(" "));
    (found, remarks.filter(|remark| remark.contains(char::is_alphanumeric)).collect())
}

/// Reads the end of a range after its first id: `– 7`, `to Task 7`.
fn end_of_range(tokens: &[Token]) -> Option<(TaskId, &[Token])> {
    let (dash, mut rest) = tokens.split_first()?;
    if *dash != Token::Dash {
        return None;
    }
    while let Some((Token::Word(word), after)) = rest.split_first()
        && is_task(word)
    {
        rest = after;
    }
    let (last, rest) = rest.split_first()?;
    Some((id(last)?, rest))
}

/// Reads `all previous tasks`, `everything above`, `the previous task`.
fn relative(tokens: &[Token]) -> Option<TaskReference> {
    const NEAR: [&str; 9] =
        ["previous", "prior", "above", "earlier", "preceding", "before", "other", "others", "foregoing"];
    let words: Vec<String> = tokens.iter().map(|token| token_text(token).to_lowercase()).collect();
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !matches!(*word, "the" | "of" | "them")).collect();
    let is_near = |words: &[&str]| words.iter().all(|word| NEAR.contains(word) || is_task(word));
    match words.as_slice() {
        ["all" | "everything", rest @ ..] if is_near(rest) => Some(TaskReference::Earlier),
        ["previous" | "preceding" | "prior", "task" | "subtask"] => Some(TaskReference::Previous),
        ["previous" | "preceding" | "prior" | "earlier", "tasks" | "subtasks"] => Some(TaskReference::Earlier),
        _ => None,
    }
}

/// The marks between the ends of a range.
const DASHES: [&str; 9] = ["...", "..", "…", "-", "–", "—", "~", "〜", "～"];

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for word in space_separators(text).split_whitespace() {
        if word == "," {
            tokens.push(Token::Separator);
            continue;
        }
        let is_dash =
            DASHES.contains(&word) || ["to", "through", "thru", "until"].contains(&word.to_lowercase().as_str());
        tokens.push(match range(word) {
            Some((first, last)) => Token::Range(first, last),
            None if is_dash => Token::Dash,
            None => Token::Word(bare_word(word).to_owned()),
        });
    }
    tokens.retain(|token| *token != Token::Word(String::new()));
    tokens
}

/// Returns the text with each separator as a comma of its own.
fn space_separators(text: &str) -> String {
    let separator = |c: char| ",;&+，、；·|/".contains(c);
    text.chars().flat_map(|c| if separator(c) { vec![' ', ',', ' '] } else { vec![c] }).collect()
}

/// Reads `1-7`, `2a–2c` and `15.1..15.4`.
fn range(word: &str) -> Option<(TaskId, TaskId)> {
    DASHES.iter().find_map(|dash| {
        let (first, last) = word.split_once(dash)?;
        Some((bare_word(first).parse().ok()?, bare_word(last).parse().ok()?))
    })
}

fn id(token: &Token) -> Option<TaskId> {
    let Token::Word(word) = token else { return None };
    word.parse().ok()
}

fn token_text(token: &Token) -> String {
    match token {
        Token::Separator => ",".to_owned(),
        Token::Dash => "–".to_owned(),
        Token::Word(word) => word.clone(),
        Token::Range(first, last) => format!("{first}–{last}"),
    }
}

/// Returns the ids of a list item, without the description after them: `Task 1` for `Task 1: Read`.
pub(super) fn of_item(text: &str) -> &str {
    let ends_ids = |at: &usize| {
        let after = text[*at..].split_whitespace().skip(1).find(|word| !is_task(word));
        after.is_none_or(|word| bare_word(word).parse::<TaskId>().is_err())
    };
    let end = [": ", " - ", " – ", " — "].iter().filter_map(|mark| text.find(mark)).filter(ends_ids).min();
    end.map_or(text, |end| &text[..end])
}

/// True if the list of ids continues on the next line.
pub(super) fn continues(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with([',', ':', '&', '+', ';']) || text.ends_with(" and")
}

fn bare_word(word: &str) -> &str {
    word.trim_matches(|c: char| "`*_#.:[]\"".contains(c))
}

fn is_filler(word: &str) -> bool {
    ["and", "both", "plus", "then", "after", "on", "or", "also", "only"]
        .iter()
        .any(|filler| word.eq_ignore_ascii_case(filler))
}

fn is_task(word: &str) -> bool {
    ["task", "tasks", "subtask", "subtasks"].iter().any(|task| word.eq_ignore_ascii_case(task))
}

fn is_phase(word: &str) -> bool {
    ["phase", "phases"].iter().any(|phase| word.eq_ignore_ascii_case(phase))
}

const NONE: [&str; 20] = [
    "none",
    "nothing",
    "no",
    "n",
    "nil",
    "independent",
    "无",
    "無",
    "なし",
    "없음",
    "keine",
    "keins",
    "nichts",
    "aucune",
    "aucun",
    "ninguna",
    "ninguno",
    "nenhuma",
    "nessuna",
    "нет",
];

fn is_none(token: &Token) -> bool {
    matches!(token, Token::Word(word) if NONE.contains(&word.to_lowercase().as_str()))
}

/// True for `No`, which before a number is no "none": `No. 3`.
fn is_none_word_alone(token: &Token) -> bool {
    matches!(token, Token::Word(word) if matches!(word.to_lowercase().as_str(), "no" | "n"))
}

/// True for what follows "no" and adds nothing: `dependencies`, the `a` of `n/a`.
fn is_only_filler(rest: &str) -> bool {
    let is_filler = |word: &str| {
        matches!(word.to_lowercase().as_str(), "a" | "dependencies" | "dependency" | "deps" | "," | "tasks")
    };
    rest.split_whitespace().all(is_filler)
}

/// Returns the text without the parts in round brackets.
pub(super) fn without_remarks(text: &str) -> String {
    pieces(text).0
}

/// Returns the parts in round brackets.
fn brackets(text: &str) -> impl Iterator<Item = String> {
    pieces(text).1.into_iter()
}

/// True if a bracket of the text is never closed.
pub(super) fn is_open(text: &str) -> bool {
    text.matches(['(', '（']).count() > text.matches([')', '）']).count()
}

fn pieces(text: &str) -> (String, Vec<String>) {
    let mut depth = 0_usize;
    let (mut visible, mut brackets) = (String::new(), Vec::new());
    for c in text.chars() {
        match c {
            '(' | '（' => {
                depth += 1;
                if depth == 1 {
                    brackets.push(String::new());
                }
            }
            ')' | '）' => depth = depth.saturating_sub(1),
            c if depth == 0 => visible.push(c),
            c => brackets.last_mut().into_iter().for_each(|inside| inside.push(c)),
        }
    }
    (visible, brackets)
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
    #[case("1, 01", &["1", "1"])]
    fn ids_of_a_line(#[case] text: &str, #[case] ids: &[&str]) {
        let mut needs = Needs::default();
        needs.read(text, 7);
        assert_eq!(shown(&needs), ids);
        assert_eq!((needs.bad, needs.remarks), (vec![], vec![]));
    }

    #[rstest]
    #[case::range("Tasks 1–7", &["1..7"], &[])]
    #[case::range_with_spaces("Task 1 - Task 7", &["1..7"], &[])]
    #[case::range_in_words("1 to 3 and 5 through 7", &["1..3", "5..7"], &[])]
    #[case::range_of_letters("2a-2c", &["2a..2c"], &[])]
    #[case::range_below("15.1–15.4, 3", &["15.1..15.4", "3"], &[])]
    #[case::remark("1 because of it", &["1"], &["because of it"])]
    #[case::state("Task 1 GREEN passing", &["1"], &["GREEN passing"])]
    #[case::states("Task 1 GREEN, Task 2 merged", &["1", "2"], &["GREEN", "merged"])]
    #[case::task_in_a_remark("Task 1 done and Task 2 done", &["1", "2"], &["done and", "done"])]
    #[case::number_in_a_remark("Tasks 10 and 14 plus the reviewed Phase 5 contracts", &["10", "14"], &["the reviewed Phase 5 contracts"])]
    #[case::after_a_dash("1 — the table", &["1"], &["– the table"])]
    #[case::none_with_a_remark("None — parallel-safe with Task 3", &[], &["parallel-safe with Task 3"])]
    #[case::none_in_brackets("None (parallel-safe with Task 3)", &[], &["parallel-safe with Task 3"])]
    #[case::no_dependencies("No dependencies", &[], &[])]
    #[case::not_applicable("N/A", &[], &[])]
    #[case::phase("Phase 2", &["phase 2"], &[])]
    #[case::all("all previous tasks", &["earlier"], &[])]
    #[case::previous("the previous task", &["previous"], &[])]
    fn ids_and_remarks_of_a_line(#[case] text: &str, #[case] named: &[&str], #[case] remarks: &[&str]) {
        let mut needs = Needs::default();
        needs.read(text, 7);
        assert_eq!(shown(&needs), named);
        assert_eq!(needs.remarks.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), remarks);
        assert_eq!(needs.bad, []);
    }

    #[rstest]
    #[case("the parser")]
    #[case("parser v2")]
    fn a_text_without_ids_is_bad(#[case] text: &str) {
        let mut needs = Needs::default();
        needs.read(text, 7);
        assert_eq!((needs.named, needs.bad), (vec![], vec![(text.to_owned(), 7)]));
    }

    fn shown(needs: &Needs) -> Vec<String> {
        let shown = |named: &TaskReference| match named {
            TaskReference::Task(id) => id.to_string(),
            TaskReference::Range(first, last) => format!("{first}..{last}"),
            TaskReference::Phase(id) => format!("phase {id}"),
            TaskReference::Earlier => "earlier".to_owned(),
            TaskReference::Previous => "previous".to_owned(),
        };
        needs.named.iter().map(|(named, _)| shown(named)).collect()
    }
}
