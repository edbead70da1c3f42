//! The paths and globs of a `Files` line: how they are read from its text, which paths a pattern covers, and which
//! patterns overlap. Pure; knows no plan. When in doubt, two patterns overlap.

use superstep_base::composed::to_nfc;

use super::blocks::Piece;
use super::needs::without_remarks;

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

/// The maximum number of readings of a pattern with braces; a pattern with more covers everything.
const READINGS: usize = 64;

/// A path or glob in each of its possible readings.
pub(super) struct Pattern {
    readings: Vec<Vec<Part>>,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`: any number of names.
    Any,
    Name(Vec<Sign>),
}

/// A part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// `*`.
    Run,
    /// `?` or `[..]`.
    One,
    Is(char),
}

impl Pattern {
    /// Reads a path or glob. Case does not count, nor does the Unicode form of a letter.
    pub(super) fn new(text: &str) -> Self {
        let text = text.trim_start_matches("./").trim_start_matches('/').replace('\\', "/").to_lowercase();
        let text = to_nfc(&text);
        let readings = match expand_braces(&text) {
            Some(texts) => texts.iter().flat_map(|text| readings(text)).collect(),
            None => vec![vec![Part::Any]],
        };
        Self { readings }
    }

    /// True if both may cover the same path.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.readings.iter().any(|one| other.readings.iter().any(|other| parts_overlap(one, other)))
    }
}

/// True if a path or glob covers a path: it is equal, a folder around it, or matches it.
pub fn covers(pattern: &str, path: &str) -> bool {
    let pattern = Pattern::new(pattern);
    let path = literal(&to_nfc(&path.trim_start_matches("./").to_lowercase()));
    pattern.readings.iter().any(|reading| {
        let is_folder = is_literal(reading) && path.starts_with(reading);
        is_folder || intersect(reading, &path, &parts_meet)
    })
}

/// Returns the brace expansions of a text; `None` if there are too many.
fn expand_braces(text: &str) -> Option<Vec<String>> {
    let (mut open, mut done) = (vec![text.to_owned()], Vec::new());
    while let Some(text) = open.pop() {
        let close = text.find('}');
        let braces = close.and_then(|close| Some((text[..close].rfind('{')?, close)));
        match braces {
            Some((start, end)) => {
                let inner = text[start + 1..end].split(',');
                open.extend(inner.map(|inner| format!("{}{inner}{}", &text[..start], &text[end + 1..])));
            }
            None => done.push(text),
        }
        if open.len() + done.len() > READINGS {
            return None;
        }
    }
    Some(done)
}

/// Returns the readings of a text without braces: square brackets can be a class, or characters of a name.
fn readings(text: &str) -> Vec<Vec<Part>> {
    let mut readings = vec![parts(text, true)];
    if text.contains('[') {
        readings.push(parts(text, false));
    }
    readings
}

fn parts(text: &str, classes: bool) -> Vec<Part> {
    let names = text.split('/').filter(|name| !name.is_empty() && *name != ".");
    let mut parts: Vec<Part> = names.map(|name| part(name, classes)).collect();
    if !text.contains('/') && !is_literal(&parts) {
        parts.insert(0, Part::Any);
    }
    if text.ends_with('/') {
        parts.push(Part::Any);
    }
    parts
}

fn part(name: &str, classes: bool) -> Part {
    if name == "**" { Part::Any } else { Part::Name(signs(name, classes)) }
}

fn signs(name: &str, classes: bool) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let class = rest.find(']').filter(|_| classes && first == '[');
        rest = match class {
            Some(end) => &rest[end + 1..],
            None => &rest[first.len_utf8()..],
        };
        signs.push(match first {
            '*' => Sign::Run,
            '?' => Sign::One,
            _ if class.is_some() => Sign::One,
            first => Sign::Is(first),
        });
    }
    signs
}

fn literal(path: &str) -> Vec<Part> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| Part::Name(name.chars().map(Sign::Is).collect())).collect()
}

fn is_literal(parts: &[Part]) -> bool {
    parts.iter().all(is_plain)
}

fn is_plain(part: &Part) -> bool {
    match part {
        Part::Any => false,
        Part::Name(signs) => signs.iter().all(|sign| matches!(sign, Sign::Is(_))),
    }
}

fn parts_overlap(one: &[Part], other: &[Part]) -> bool {
    if let (Some(first), Some(second)) = (one.first(), other.first())
        && is_plain(first)
        && is_plain(second)
        && first != second
    {
        return false;
    }
    let (one, other) = (as_folder(one, other), as_folder(other, one));
    intersect(&one, &other, &parts_meet)
}

/// Appends `**` to a path that may be a folder: the other names something below it, or its last name has no extension.
fn as_folder(path: &[Part], other: &[Part]) -> Vec<Part> {
    let mut parts = path.to_vec();
    let has_extension = match path.last() {
        Some(Part::Name(signs)) => signs.iter().skip(1).any(|sign| *sign == Sign::Is('.')),
        Some(Part::Any) | None => false,
    };
    if is_literal(path) && (!has_extension || other.starts_with(path)) {
        parts.push(Part::Any);
    }
    parts
}

/// A pattern item, one kind of which matches any number of others.
trait Wildcard {
    fn is_any(&self) -> bool;
}

impl Wildcard for Part {
    fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }
}

impl Wildcard for Sign {
    fn is_any(&self) -> bool {
        matches!(self, Self::Run)
    }
}

fn signs_meet(one: &Sign, other: &Sign) -> bool {
    match (one, other) {
        (Sign::Is(one), Sign::Is(other)) => one == other,
        _ => true,
    }
}

fn parts_meet(one: &Part, other: &Part) -> bool {
    match (one, other) {
        (Part::Name(one), Part::Name(other)) => intersect(one, other, &signs_meet),
        (Part::Any, _) | (_, Part::Any) => true,
    }
}

/// True if some sequence matches both patterns. Fills the table of suffix pairs row by row from the last.
fn intersect<T: Wildcard>(one: &[T], other: &[T], same: &impl Fn(&T, &T) -> bool) -> bool {
    let all_any = |items: &[T]| items.iter().all(Wildcard::is_any);
    let mut below: Vec<bool> = (0..=other.len()).map(|at| all_any(&other[at..])).collect();
    for (row, item) in one.iter().enumerate().rev() {
        let mut line = vec![all_any(&one[row..]); other.len() + 1];
        for (column, facing) in other.iter().enumerate().rev() {
            line[column] = match (item.is_any(), facing.is_any()) {
                (true, _) | (_, true) => below[column] || line[column + 1],
                (false, false) => same(item, facing) && below[column + 1],
            };
        }
        below = line;
    }
    below.first().copied().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("src/a.rs", "./src/a.rs", true)]
    #[case("src/a.rs", "src/b.rs", false)]
    #[case("src/A.rs", "src/a.rs", true)]
    #[case("src", "src/a.rs", true)]
    #[case("src/", "src/a/b.rs", true)]
    #[case("src", "srcs/a.rs", false)]
    #[case("src/*.rs", "src/a.rs", true)]
    #[case("src/*.rs", "src/a/b.rs", false)]
    #[case("src/**", "src/a/b.rs", true)]
    #[case("src/**/*.rs", "src/b.rs", true)]
    #[case("src/**/*.rs", "docs/x.md", false)]
    #[case("**/*.rs", "docs/x.md", false)]
    #[case("*.rs", "src/a.rs", true)]
    #[case("*.rs", "docs/x.md", false)]
    #[case("src/{a,b}.rs", "src/b.rs", true)]
    #[case("src/{a,b}.rs", "src/c.rs", false)]
    #[case("src/a*", "src/*b", true)]
    #[case("src/a*", "src/b*", false)]
    #[case("src/*_test.rs", "src/tides*.rs", true)]
    #[case("src/?.rs", "src/ab.rs", false)]
    #[case("app/[id]/page.tsx", "app/[id]/page.tsx", true)]
    #[case("app/[id]/page.tsx", "app/[id]/layout.tsx", false)]
    #[case("docs", "docs", true)]
    #[case("Makefile", "src/Makefile", false)]
    #[case("a/{b,{c,d}}/*.rs", "a/d/x.rs", true)]
    #[case("**", "x", true)]
    fn overlap_of_patterns(#[case] one: &str, #[case] other: &str, #[case] expected: bool) {
        assert_eq!(Pattern::new(one).overlaps(&Pattern::new(other)), expected);
        assert_eq!(Pattern::new(other).overlaps(&Pattern::new(one)), expected);
    }

    #[rstest]
    #[case("src", "src/a/b.rs", true)]
    #[case("src/*", "src/a/b.rs", false)]
    #[case("src/**", "src/a/b.rs", true)]
    #[case("*.rs", "src/b.rs", true)]
    #[case("app/[id]/page.tsx", "app/[id]/page.tsx", true)]
    #[case("src/a.rs", "src/a.rs.orig", false)]
    #[case::composed("docs/r\u{e9}sum\u{e9}.md", "docs/re\u{301}sume\u{301}.md", true)]
    #[case::decomposed("docs/re\u{301}sume\u{301}.md", "docs/r\u{e9}sum\u{e9}.md", true)]
    #[case("./src/{a,b}.rs", "src/b.rs", true)]
    fn a_pattern_covers_a_path(#[case] pattern: &str, #[case] path: &str, #[case] expected: bool) {
        assert_eq!(covers(pattern, path), expected);
    }

    #[test]
    fn a_pattern_with_too_many_readings_covers_everything() {
        let many = "{a,b}".repeat(20);
        assert!(Pattern::new(&many).overlaps(&Pattern::new("x.md")));
    }

    fn pattern() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["a", "b", "*", "**", "?", "a*", "*.x", "a.x", "{a,b}", "[a]", "b*.x"]);
        prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "a.x", "ba.x", "[a]", "c"]), 1..4)
            .prop_map(|names| names.join("/"))
    }

    proptest! {
        #[test]
        fn patterns_that_cover_one_path_overlap(one in pattern(), other in pattern(), path in path()) {
            // A path with an extension is a folder only if the other pattern says so.
            let names = |path: &str| path.split('/').count();
            let is_file = |pattern: &str| pattern.ends_with(".x") && !pattern.contains(['*', '?']) && names(pattern) < names(&path);
            prop_assume!(!is_file(&one) && !is_file(&other));
            if covers(&one, &path) && covers(&other, &path) {
                prop_assert!(Pattern::new(&one).overlaps(&Pattern::new(&other)), "{one} {other} {path}");
            }
        }
    }
}
