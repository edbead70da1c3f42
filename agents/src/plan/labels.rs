//! The labels at the start of a line: of a task or phase heading, of a part of a task's section, a rising number; and the
//! list items that belong to the label above them. Knows lines and items, no document.

use super::blocks::{Block, Kind, Line, Piece};
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

/// The beginning of a numbered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberPrefix {
    /// The text before the number, lower case; empty if it begins with the number.
    pub(super) word: String,
    /// The parts of the number: `[3, 1]` for `3.1`.
    pub(super) number: Vec<u64>,
    /// True if a mark such as `:` or `.` ends the number.
    pub(super) is_marked: bool,
}

/// The maximum number of characters before the number.
const WORD: usize = 24;

const SMALL: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

impl NumberPrefix {
    /// Reads the beginning of a line of plain text.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
        let found = text.char_indices().take(WORD).find_map(|(at, _)| Self::at(text, at))?;
        let is_word = |c: char| c.is_alphanumeric() || " \t\u{a0}-_#*[]".contains(c);
        let words = found.word.split_whitespace().count();
        (words <= 2 && found.word.chars().all(is_word) && (!found.word.is_empty() || found.is_marked)).then_some(found)
    }

    /// Reads the number at this byte.
    fn at(text: &str, at: usize) -> Option<Self> {
        let (before, rest) = text.split_at(at);
        let is_circled = rest.chars().next().is_some_and(|first| circled_number(first).is_some());
        let starts_word = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let (first, mut rest) = digits(rest)
            .or_else(|| ideograph(rest))
            .or_else(|| starts_word.then(|| roman(rest).or_else(|| number_word(rest))).flatten())?;
        let mut number = vec![first];
        while let Some((next, after)) = rest.strip_prefix('.').and_then(digits) {
            number.push(next);
            rest = after;
        }
        let word = before.trim_end_matches([' ', '\t', '\u{a0}', '#', '-', '_', '*', '[']).to_lowercase();
        Some(Self { word, is_marked: is_circled || is_mark(rest) || number.len() > 1, number })
    }
}

/// True if a text starts with what ends a number: punctuation after at most two letters, or the end of the text.
fn is_mark(rest: &str) -> bool {
    let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
    let rest = if letters <= 2 { &rest[letters..] } else { rest };
    let rest = rest.trim_start_matches([' ', '*', '_']);
    rest.chars().next().is_none_or(|c| "：:.．)）、-–—]".contains(c))
}

/// Reads decimal digits of any script, or a circled number.
fn digits(text: &str) -> Option<(u64, &str)> {
    let first = text.chars().next()?;
    if let Some(circled) = circled_number(first) {
        return Some((circled, &text[first.len_utf8()..]));
    }
    let length: usize = text.chars().take_while(|c| digit(*c).is_some()).map(char::len_utf8).sum();
    let mut number = text[..length].chars().filter_map(digit);
    let number = number.try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit))?;
    (length > 0).then(|| (number, &text[length..]))
}

fn digit(c: char) -> Option<u64> {
    const ZEROS: [char; 6] = ['0', '０', '٠', '۰', '०', '০'];
    let value = ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10))?;
    Some(u64::from(value))
}

fn circled_number(c: char) -> Option<u64> {
    ('①'..='⑳').contains(&c).then(|| u64::from(u32::from(c) - u32::from('①')) + 1)
}

/// Reads a number below 100 in ideographs, before a mark or a counter: `一、`, `十二：`, `三步`.
fn ideograph(text: &str) -> Option<(u64, &str)> {
    let value = |c: char| "一二三四五六七八九".chars().position(|known| known == c).map(|at| at as u64 + 1);
    let run: Vec<char> = text.chars().take_while(|c| *c == '十' || value(*c).is_some()).collect();
    let number = match run.as_slice() {
        ['十'] => 10,
        [one] => value(*one)?,
        ['十', ones] => 10 + value(*ones)?,
        [tens, '十'] => value(*tens)? * 10,
        [tens, '十', ones] => value(*tens)? * 10 + value(*ones)?,
        _ => return None,
    };
    let rest = &text[run.len() * '一'.len_utf8()..];
    let ends = rest.chars().next().is_none_or(|c| "步章节節阶階部项項回番条條期".contains(c));
    (ends || is_mark(rest)).then_some((number, rest))
}

/// Reads a Roman number before a mark.
fn roman(text: &str) -> Option<(u64, &str)> {
    let value = |c: u8| match c {
        b'I' => 1,
        b'V' => 5,
        b'X' => 10,
        b'L' => 50,
        _ => 0,
    };
    let length = text.bytes().take_while(|c| value(*c) > 0).count();
    let (letters, rest) = text.split_at(length);
    let values: Vec<i64> = letters.bytes().map(value).collect();
    let next = values.iter().copied().skip(1).chain([0]);
    let number: i64 = values.iter().zip(next).map(|(value, next)| if *value < next { -value } else { *value }).sum();
    let number = u64::try_from(number).ok()?;
    (length > 0 && !rest.starts_with(' ') && is_mark(rest)).then_some((number, rest))
}

fn number_word(text: &str) -> Option<(u64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let at = SMALL.iter().position(|word| text[..length].eq_ignore_ascii_case(word))?;
    let rest = &text[length..];
    is_mark(rest).then_some((at as u64 + 1, rest))
}

/// Words for a step of a task.
const STEPS: [&str; 18] = [
    "step",
    "steps",
    "task",
    "schritt",
    "étape",
    "etape",
    "paso",
    "passo",
    "stap",
    "krok",
    "шаг",
    "步骤",
    "步驟",
    "第",
    "ステップ",
    "手順",
    "단계",
    "작업",
];

/// Returns the number of items, from the first, that a reader sees as part of what is above the list.
pub(super) fn own_items(items: &[Vec<Block>], field: Field) -> usize {
    let has_box = items.first().and_then(|item| first_line(item)).is_some_and(|line| line.has_box);
    let first = items.first().and_then(|item| marked_number(item));
    let ends = |item: &Vec<Block>| {
        let Some(line) = first_line(item) else { return false };
        let has_other_number = match (marked_number(item), &first) {
            (Some(number), Some(first)) => number.word != first.word && (line.is_strong() || line.has_box),
            (Some(_), None) => line.is_strong(),
            (None, _) => false,
        };
        is_step(line, field) || opens_label(line) || (line.has_box && !has_box) || has_other_number
    };
    items.iter().position(ends).unwrap_or(items.len())
}

/// True if each item starts with code and has no box.
pub(super) fn are_code(items: &[Vec<Block>]) -> bool {
    items.iter().filter_map(|item| first_line(item)).all(|line| line.starts_with_code() && !line.has_box)
}

fn first_line(item: &[Block]) -> Option<&Line> {
    match &item.first()?.kind {
        Kind::Paragraph(lines) | Kind::Heading(lines) => lines.first(),
        Kind::List(_) | Kind::Code(_) | Kind::Opaque => None,
    }
}

fn marked_number(item: &[Block]) -> Option<NumberPrefix> {
    NumberPrefix::of(&first_line(item)?.text()).filter(|number| !number.word.is_empty() && number.is_marked)
}

/// True for the title of a step: `**Step 3: Commit**`, `- [ ] 步骤 3：提交`. A criterion may begin like one.
fn is_step(line: &Line, field: Field) -> bool {
    let Some(number) = NumberPrefix::of(&line.text()).filter(|_| !line.starts_with_code()) else { return false };
    let is_title = line.is_strong() || line.has_box || matches!(field, Field::Verify | Field::Files);
    let names_task = field == Field::DependsOn && number.word == "task";
    STEPS.contains(&number.word.as_str()) && (number.is_marked || line.is_strong()) && is_title && !names_task
}

fn opens_label(line: &Line) -> bool {
    LabelledLine::of(line, false, false, false).is_some_and(|labelled| labelled.field.is_some())
}
