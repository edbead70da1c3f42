//! The label of a heading: task, phase or other. Knows one line of text and no document.

use super::id::TaskId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// `Task 3: title`.
    Task { id: TaskId, title: String },
    /// `Phase 3`, with or without a title.
    Phase { id: TaskId },
    /// Meant as a task, but written differently: `Task: title`, `Task3: title`, `Task 3 - title`.
    AlmostTask,
    /// Any other heading.
    Other,
}

impl Label {
    /// Reads the plain text of a heading. Zero-width characters are ignored.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || is_invisible(c));
        let (before, title) = text.split_once(':').map_or((text, None), |(before, title)| (before, Some(title)));
        let visible: String = before.chars().filter(|c| !is_invisible(*c)).collect();
        let task = title.and_then(|title| task(&visible, title));
        let visible = if title.is_some() { visible + ":" } else { visible };
        task.or_else(|| phase(&visible))
            .unwrap_or_else(|| if is_almost_task(&visible) { Self::AlmostTask } else { Self::Other })
    }
}

/// True for zero-width spaces and joiners, soft hyphens, direction marks and byte order marks.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

fn task(before: &str, title: &str) -> Option<Label> {
    let id = after_word(before, "Task")?.trim_end().parse().ok()?;
    Some(Label::Task { id, title: title.trim().to_owned() })
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

/// Returns the text after `word` and at least one space.
fn after_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(word)?;
    let trimmed = rest.trim_start();
    (trimmed.len() < rest.len()).then_some(trimmed)
}

/// True for `Task` followed by a number, a colon, or one word and a colon, in any case, spacing and markup.
fn is_almost_task(text: &str) -> bool {
    let text = text.trim_start_matches(['`', '#', ' ']);
    let Some((word, rest)) = text.split_at_checked(4) else { return false };
    if !word.eq_ignore_ascii_case("task") {
        return false;
    }
    let spaced = rest.starts_with(char::is_whitespace);
    let rest = rest.trim_start();
    let one_word = spaced && rest.split_whitespace().next().is_some_and(|word| word.ends_with(':'));
    rest.starts_with(|c: char| c == ':' || c.is_numeric()) || one_word
}
