//! What the text of a heading says it is. Knows one line of text and no document.

use super::id::TaskId;

/// What a heading's text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// `Task 3: title`.
    Task { id: TaskId, title: String },
    /// `Phase 3`, with or without a title.
    Phase { id: TaskId },
    /// Meant as a task, but not written as one: `Task: title`, `Task3: title`, `Task 3 - title`.
    AlmostTask,
    /// Any other heading.
    Other,
}

impl Label {
    /// Reads the plain text of a heading.
    pub(super) fn of(text: &str) -> Self {
        task(text)
            .or_else(|| phase(text))
            .unwrap_or_else(|| if is_almost_task(text) { Self::AlmostTask } else { Self::Other })
    }
}

fn task(text: &str) -> Option<Label> {
    let (number, title) = after_word(text, "Task")?.split_once(':')?;
    Some(Label::Task { id: number.parse().ok()?, title: title.trim().to_owned() })
}

fn phase(text: &str) -> Option<Label> {
    let rest = after_word(text, "Phase")?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, title) = rest.split_at(digits);
    if title.starts_with(char::is_alphanumeric) {
        return None;
    }
    Some(Label::Phase { id: number.parse().ok()? })
}

/// Returns what follows `word` and at least one space.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(word)?;
    let trimmed = rest.trim_start();
    (trimmed.len() < rest.len()).then_some(trimmed)
}

/// True of `Task` followed by a number, a colon, or one word and a colon, in any case and spacing.
fn is_almost_task(text: &str) -> bool {
    let Some((word, rest)) = text.split_at_checked(4) else { return false };
    if !word.eq_ignore_ascii_case("task") {
        return false;
    }
    let spaced = rest.starts_with(char::is_whitespace);
    let rest = rest.trim_start();
    let one_word = spaced && rest.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    rest.starts_with(|c: char| c == ':' || c.is_ascii_digit()) || one_word
}
