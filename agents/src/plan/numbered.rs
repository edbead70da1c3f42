//! Texts that begin with a rising number, in any language: `Step 3: …`, `任务 3：…`, `T003 …`, `3.1 …`. Knows one line of
//! text.

/// The beginning of a numbered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
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

impl Numbered {
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
        let is_circled = rest.chars().next().is_some_and(|first| circled(first).is_some());
        let starts_word = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let (first, mut rest) = digits(rest)
            .or_else(|| ideograph(rest))
            .or_else(|| starts_word.then(|| roman(rest).or_else(|| spelled(rest))).flatten())?;
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
    if let Some(circled) = circled(first) {
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

fn circled(c: char) -> Option<u64> {
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

fn spelled(text: &str) -> Option<(u64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let at = SMALL.iter().position(|word| text[..length].eq_ignore_ascii_case(word))?;
    let rest = &text[length..];
    is_mark(rest).then_some((at as u64 + 1, rest))
}
