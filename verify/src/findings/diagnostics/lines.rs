//! Lines of any output: without what a log prints before them, each read by the first family that knows it; repetitions are dropped.
//! Knows which characters a family's lines begin with, so that most lines are looked at once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::diagnostic::{Block, Diagnostic, FAILED};
use super::place::severity;
use super::{go, javascript, messages, native, numbered, python, rust_tests, rustc, test_runners, throwable};
use crate::findings::finding::FindingKind;
use crate::findings::normalizer::Normalizer;
use crate::findings::volatile::time_length;

/// Returns the diagnostics that the lines show, in order, each once. The paths of files stay as they were printed; `normalizer`
/// tells those of the repository from others.
pub(in crate::findings) fn read<'a>(lines: &[&'a str], normalizer: &Normalizer) -> Vec<Diagnostic<'a>> {
    let (mut found, mut at) = (vec![], 0);
    let lines: Vec<&'a str> = lines.iter().map(|line| without_prefixes(line)).collect();
    while at < lines.len() {
        at += step(&Block::new(&lines, at, normalizer), &mut found);
    }
    without_repetitions(found)
}

/// Reads what begins in the first line, and returns by how many lines to go on.
fn step<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let before = found.len();
    let read = shapes_of(block.first()).map(|shape| shape(block, found)).find(|read| *read > 0).unwrap_or(1);
    for diagnostic in &mut found[before..] {
        if diagnostic.shown.is_empty() {
            diagnostic.shown = block.span(read);
        }
    }
    read
}

/// Reads diagnostics that start on the first line of a block; returns the number of lines read, 0 if none starts there.
type Shape = for<'a> fn(&Block<'a, '_>, &mut Vec<Diagnostic<'a>>) -> usize;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ANY: &str = "";

/// Every shape, with the first characters and the properties that its lines must have; the first match reads.
const SHAPES: [(Shape, &str, u8); 16] = [
    (rustc::read_json, "{", 0),
    (rust_tests::read, "t-FSTLA", 0),
    (rustc::read_text, "ewnfhirABCDEFGHIJKLMNOPQRSTUVWXYZ", 0),
    (python::read_traceback, "TFE", 0),
    (python::read_pytest, "_FE", 0),
    (go::read, "-pf", 0),
    (javascript::read_tests, "●✖Fn", 0),
    (numbered::read, "0123456789", 0),
    (native::read_cmake, "C", COLON),
    (test_runners::read, ANY, CAPITAL),
    (throwable::read, LETTERS, CAPITAL),
    (javascript::read_eslint, ANY, 0),
    (native::read_linker, ANY, COLON),
    (messages::read_located, ANY, POSITION),
    (messages::read_shell, ANY, COLON | DIGIT),
    (messages::read_bare, ANY, COLON),
];

const COLON: u8 = 1;
const DIGIT: u8 = 2;
/// A separator before a digit.
const POSITION: u8 = 4;
const CAPITAL: u8 = 8;
/// A separator of a path and a line.
const SEPARATOR: u8 = 16;

/// The shapes of lines that start with a byte, one bit each.
const BEGINNINGS: [u16; 256] = beginnings();
/// The kinds of bytes.
const KINDS: [u8; 256] = kinds();

/// Returns the candidate shapes of the line, in order.
fn shapes_of(line: &str) -> impl Iterator<Item = Shape> {
    let first = line.bytes().find(|byte| *byte != b' ' && *byte != b'\t');
    let begins = first.map_or(0, |first| BEGINNINGS[usize::from(first)]);
    let has = if begins == 0 { 0 } else { properties_of(line) };
    let fits = move |nth: &usize| begins & (1 << nth) != 0 && SHAPES[*nth].2 & !has == 0;
    (0..SHAPES.len()).filter(fits).map(|nth| SHAPES[nth].0)
}

/// Returns the properties of the line.
fn properties_of(line: &str) -> u8 {
    let (mut has, mut before) = (0, 0);
    for byte in line.bytes() {
        let kind = KINDS[usize::from(byte)];
        // A digit after a separator is a position: DIGIT << 1.
        has |= kind | ((before >> 3) & kind & DIGIT) << 1;
        before = kind;
    }
    has
}

const fn kinds() -> [u8; 256] {
    let (mut kinds, mut byte) = ([0; 256], 0_u8);
    loop {
        kinds[byte as usize] = match byte {
            b':' => COLON | SEPARATOR,
            b'(' | b'[' => SEPARATOR,
            b'0'..=b'9' => DIGIT,
            b'A'..=b'Z' => CAPITAL,
            _ => 0,
        };
        if byte == u8::MAX {
            return kinds;
        }
        byte += 1;
    }
}

const fn beginnings() -> [u16; 256] {
    let (mut shapes, mut nth) = ([0; 256], 0);
    while nth < SHAPES.len() {
        let letters = SHAPES[nth].1.as_bytes();
        let mut byte = 0;
        while byte < if letters.is_empty() { 256 } else { letters.len() } {
            shapes[if letters.is_empty() { byte } else { letters[byte] as usize }] |= 1 << nth;
            byte += 1;
        }
        nth += 1;
    }
    shapes
}

/// The maximum number of prefixes of one line: a time, a mark, a name.
const MOST: usize = 4;
/// The maximum length of what stands in brackets, in bytes.
const BRACKET: usize = 48;

/// Returns the line without what a log printed before it. The indentation after it stays, as it belongs to the tool.
fn without_prefixes(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..MOST {
        let Some(next) = mark(rest).or_else(|| time(rest)).or_else(|| strip_name(rest)) else { break };
        rest = next;
    }
    rest
}

/// Reads `##[error]text` of Azure, `#12 1.234 text` of docker, `2>text` of MSBuild.
fn mark(line: &str) -> Option<&str> {
    match line.as_bytes().first()? {
        b'#' if line.starts_with("##[") => line.split_once(']').map(|(_, rest)| rest),
        b'#' => {
            let (step, rest) = line[1..].split_once(' ')?;
            let (seconds, rest) = rest.split_once(' ')?;
            (is_number(step) && seconds.contains('.') && is_number(&seconds.replace('.', ""))).then_some(rest)
        }
        b'0'..=b'9' | b' ' => {
            let (project, rest) = line.split_once('>')?;
            is_number(project.trim_start()).then_some(rest)
        }
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads `[12:00:01] text`, `[3/7] text`, `2026-11-25T12:00:01.123Z text`, `Nov 25 12:00:01 text`.
fn time(line: &str) -> Option<&str> {
    if let Some(inside) = line.strip_prefix('[') {
        let (inside, rest) = inside.split_once(']')?;
        let is_time = inside.len() <= BRACKET && (time_length(inside.trim_start()).is_some() || is_progress(inside));
        return is_time.then(|| rest.strip_prefix(' ').unwrap_or(rest));
    }
    let rest = line[time_length(line)?..].strip_prefix([' ', '\t'])?;
    Some(["| ", "- "].iter().find_map(|separator| rest.strip_prefix(separator)).unwrap_or(rest))
}

/// Returns whether a text counts: `3/7`, ` 50%`, `12.345678`, `+1.2s`, `12:00`.
fn is_progress(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || " .:/%+smh".contains(c))
}

/// Reads `web-1  | text` of containers, `web:build: text` and `packages/web build: text` of tasks.
fn strip_name(line: &str) -> Option<&str> {
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@') {
        return None;
    }
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "@._/-".contains(c)))?;
    let (name, rest) = line.split_at(end);
    if let Some(rest) = rest.trim_start_matches(' ').strip_prefix("| ").filter(|_| rest.starts_with(' ')) {
        return Some(rest);
    }
    let (task, text) = match rest.as_bytes()[0] {
        b':' | b'#' => rest[1..].split_once(": ")?,
        b' ' if name.contains('/') => rest[1..].split_once(": ")?,
        _ => return None,
    };
    let is_task = task.starts_with(|c: char| c.is_ascii_alphabetic())
        && task.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c))
        && severity(&format!("{task}:")).is_none();
    is_task.then_some(text)
}

/// Drops repetitions: cargo prints an error for each target, and test runners list failures again at the end, often
/// with fewer details.
fn without_repetitions(mut found: Vec<Diagnostic<'_>>) -> Vec<Diagnostic<'_>> {
    let described: HashSet<String> =
        found.iter().filter(|one| is_described(one)).filter_map(test).map(str::to_owned).collect();
    let is_listed = |one: &Diagnostic<'_>| test(one).is_some_and(|name| !is_described(one) && described.contains(name));
    let mut seen = HashSet::new();
    found.retain(|one| !is_listed(one) && seen.insert(key(one)));
    found
}

/// Returns the name of the test.
fn test<'t>(diagnostic: &'t Diagnostic<'_>) -> Option<&'t str> {
    diagnostic.code.as_deref().filter(|_| diagnostic.kind == FindingKind::TestFail)
}

/// Returns whether a failure has details: a line, or a text of its own without a file.
fn is_described(diagnostic: &Diagnostic<'_>) -> bool {
    diagnostic.lines.is_some() || (diagnostic.file.is_none() && diagnostic.message != FAILED)
}

/// Returns a hash of every visible part.
fn key(one: &Diagnostic<'_>) -> u64 {
    let mut hash = DefaultHasher::new();
    (&one.kind, &one.code, &one.file, one.lines, &one.message).hash(&mut hash);
    hash.finish()
}
