//! The paths and globs in the text of a `Files` line. Knows the pieces of a line and no plan.

use super::dependency_ids::without_remarks;
use super::inline::Piece;

/// The words that name the kind of change to a file.
const KINDS: [&str; 16] = [
    "create", "created", "add", "new", "modify", "modified", "update", "change", "edit", "extend", "test", "tests",
    "delete", "remove", "move", "rename",
];

/// Returns the paths of a line: its first code span and those joined to it; without code, words that look like paths.
pub(super) fn of_pieces(pieces: &[Piece]) -> Vec<String> {
    if !pieces.iter().any(|piece| piece.is_code) {
        return of_text(&pieces.iter().map(|piece| piece.text.as_str()).collect::<String>());
    }
    let (mut files, mut is_joined) = (Vec::new(), true);
    for piece in pieces {
        match piece.is_code {
            false => is_joined = files.is_empty() || is_joined && joins(&piece.text),
            true if is_joined => files.extend(of_code(&piece.text)),
            true => {}
        }
    }
    files
}

/// Returns a path without a leading `./` and trailing line numbers such as `:12-40`. `None` if nothing is left.
pub(super) fn of_code(code: &str) -> Option<String> {
    let mut path = code.trim();
    while let Some(rest) = path.strip_prefix("./").or_else(|| without_lines(path)) {
        path = rest.trim();
    }
    (!path.is_empty()).then(|| path.to_owned())
}

/// Returns the path before its line numbers: `a.rs` of `a.rs:12-40`.
fn without_lines(path: &str) -> Option<&str> {
    let (before, lines) = path.rsplit_once(':')?;
    let is_lines = lines.starts_with(|c: char| c.is_ascii_digit())
        && lines.chars().all(|c| c.is_ascii_digit() || c == '-' || c == ',');
    (is_lines && !before.is_empty()).then_some(before)
}

fn of_text(text: &str) -> Vec<String> {
    let visible = without_remarks(text);
    split(&visible).iter().flat_map(|part| of_part(part)).collect()
}

/// Splits a text at commas and semicolons outside braces.
fn split(text: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' | ';' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().into_iter().for_each(|part| part.push(c));
    }
    parts
}

/// Returns the paths of a part: its only word, or the words that look like paths.
fn of_part(part: &str) -> Vec<String> {
    let words: Vec<&str> = part.split_whitespace().filter(|word| !is_kind(word) && *word != "and").collect();
    match words.as_slice() {
        [word] => of_code(word).into_iter().collect(),
        words => words.iter().filter(|word| looks_like_a_path(word)).filter_map(|word| of_code(word)).collect(),
    }
}

fn looks_like_a_path(word: &str) -> bool {
    let has_extension = word.rsplit_once('.').is_some_and(|(_, after)| !after.is_empty());
    word.contains('/') || word.contains('*') || has_extension
}

/// True for a text such as `Create: …`, the beginning of a line of files.
pub(super) fn starts_with_kind(text: &str) -> bool {
    text.split_once([':', '：']).is_some_and(|(word, _)| is_kind(word.trim()))
}

fn is_kind(word: &str) -> bool {
    let word = word.trim_end_matches(':');
    KINDS.iter().any(|kind| word.eq_ignore_ascii_case(kind))
}

/// True if `between` only joins two paths of one line.
fn joins(between: &str) -> bool {
    let words = between.split(|c: char| c.is_whitespace() || ",;.&+".contains(c)).filter(|word| !word.is_empty());
    words.into_iter().all(|word| ["and", "or", "to", "->", "→"].contains(&word) || is_kind(word))
}
