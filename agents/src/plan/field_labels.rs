//! The labels that open a part of a task's section. Knows one line and no document.

use super::inline::{Line, Piece};

/// A labelled part of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Acceptance,
    Verify,
    Changes,
    DependsOn,
    Files,
}

/// The spellings of each label, lower case.
const LABELS: [(&str, Field); 12] = [
    ("acceptance", Field::Acceptance),
    ("acceptance criteria", Field::Acceptance),
    ("acceptance criterion", Field::Acceptance),
    ("verify", Field::Verify),
    ("verification", Field::Verify),
    ("verify command", Field::Verify),
    ("verify commands", Field::Verify),
    ("verification commands", Field::Verify),
    ("changes", Field::Changes),
    ("file changes", Field::Changes),
    ("depends on", Field::DependsOn),
    ("files", Field::Files),
];

/// A line that begins with a label.
pub(super) struct LabelledLine {
    /// `None` for a label of something else, such as `**Steps:**`.
    pub(super) field: Option<Field>,
    /// The text after the label.
    pub(super) rest: Vec<Piece>,
}

impl LabelledLine {
    /// Reads a line: `**Verify:** …`, `**Verify**: …`; if `plain`, also `Verify: …`. A heading, or a paragraph of one
    /// line, needs no colon.
    pub(super) fn of(line: &Line, is_heading: bool, plain: bool, is_alone: bool) -> Option<Self> {
        let prose = line.prose();
        let has_code = line.pieces.iter().any(|piece| piece.is_code);
        let colon = prose.find(':');
        let words = colon.map_or(prose.as_str(), |at| &prose[..at]);
        let field = field(words);
        let is_marked = is_heading || line.is_strong();
        let opens = match colon {
            Some(_) => is_marked || (plain && prose.starts_with(char::is_uppercase)),
            None => (is_heading || is_alone) && !has_code && (is_marked || plain),
        };
        let is_label = field.is_some() || (colon.is_some() && line.is_strong() && is_in_strong(line, words));
        (opens && is_label).then(|| Self { field, rest: after(line, colon.map_or(prose.len(), |at| at + 1)) })
    }
}

fn field(words: &str) -> Option<Field> {
    let words = words.split_once('(').map_or(words, |(words, _)| words).trim().to_lowercase();
    LABELS.iter().find(|(label, _)| *label == words).map(|(_, field)| *field)
}

/// True if the words before the colon are the strong beginning of the line.
fn is_in_strong(line: &Line, words: &str) -> bool {
    line.pieces.first().is_some_and(|first| first.text.trim_end_matches(':').trim_end().len() >= words.trim_end().len())
}

/// Returns the pieces of a line from this byte of its prose on.
fn after(line: &Line, mut bytes: usize) -> Vec<Piece> {
    let mut pieces = line.pieces.clone();
    for piece in pieces.iter_mut().take_while(|piece| !piece.is_code) {
        let cut = bytes.min(piece.text.len());
        piece.text.drain(..cut);
        bytes -= cut;
    }
    pieces.retain(|piece| piece.is_code || !piece.text.is_empty());
    pieces
}
