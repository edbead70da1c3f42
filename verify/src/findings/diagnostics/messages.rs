//! Messages of any tool: with a place before them, as of gcc, clang, go, tsc, mypy, flake8, javac and the short forms of rustc and
//! eslint, or with a severity alone, as `error: text` and `ld.lld: error: text`.

use std::borrow::Cow;

use super::diagnostic::{Block, Diagnostic, Place};
use super::place::{LeadingPlace, leading_place, severity};
use crate::findings::finding::Severity;

/// The maximum number of lines below a message that show the code.
const SHOWN: usize = 8;
/// The maximum number of lines around an error in a library that are searched for the place that led to it.
const TRAIL: usize = 40;
/// Prefixes of such lines.
const TRAILS: [&str; 5] =
    ["required from", "required by", "recursively required", "in instantiation of", "in ‘constexpr’ expansion"];
/// Names of the details that javac adds to a message.
const DETAILS: [&str; 6] = ["symbol:", "location:", "required:", "found:", "found   :", "reason:"];
/// Names of the details that go adds.
const TYPES: [&str; 2] = ["have ", "want "];
/// Marks that build tools print before each line of a message.
const MARKS: [&str; 6] = ["[ERROR] ", "[WARNING] ", "[error] ", "[warning] ", "[warn] ", "[WARN] "];
/// Marks of npm, and of items of a list.
const ITEMS: [&str; 11] = ["npm ERR! ", "npm error ", "> ", "- ", "* ", "× ", "✗ ", "✘ ", "✖ ", "» ", "→ "];
/// The maximum length of a name before a place, in bytes.
const NAME: usize = 60;

/// Shells, which print their own name in place of a script's.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// The parts of a message after its place.
struct Message<'a> {
    severity: Option<Severity>,
    code: Option<&'a str>,
    text: &'a str,
}

pub(super) fn read_located<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let Some(Beginning { located, rest, severity }) = begin(block.first()) else { return 0 };
    let message = message(rest);
    let message = if message.text.is_empty() { below(block, message) } else { message };
    let message = Message { severity: message.severity.or(severity), ..message };
    let is_indented = block.first().starts_with([' ', '\t']);
    if message.text.is_empty() || (message.severity.is_none() && is_indented && !located.has_column) {
        return 0;
    }
    if message.severity != Some(Severity::Info) && !is_trail(message.text) {
        found.push(diagnostic(block, located.place, &message));
    }
    1
}

/// Returns whether a message only shows the path to a template or a caller.
fn is_trail(text: &str) -> bool {
    TRAILS.iter().any(|trail| text.starts_with(trail))
}

/// Returns the place, or, for one in a file of a library, the place in the repository that led to it: gcc prints it
/// above, clang below.
fn own_place<'a>(block: &Block<'a, '_>, place: Place<'a>) -> Place<'a> {
    if block.is_own(place.file) {
        return place;
    }
    let led_here = |line: &'a str| {
        let Beginning { located, rest, .. } = begin(line)?;
        let is_origin = rest.starts_with("required from here") || rest.ends_with("requested here");
        (is_origin && block.is_own(located.place.file)).then_some(located.place)
    };
    let is_other = |line: &&str| line.contains(" error: ") || line.contains(" warning: ");
    let above = block.before(TRAIL).take_while(|line| !is_other(line)).find_map(led_here);
    above.or_else(|| block.after(TRAIL).take_while(|line| !is_other(line)).find_map(led_here)).unwrap_or(place)
}

/// A place at the beginning of a line, and what follows.
struct Beginning<'a> {
    located: LeadingPlace<'a>,
    rest: &'a str,
    /// The severity before the place.
    severity: Option<Severity>,
}

/// Reads a place, with what a tool prints before it, and the separator between it and its message.
fn begin(line: &str) -> Option<Beginning<'_>> {
    if let Some((located, rest)) = direct(line) {
        let severity = line.starts_with("w: ").then_some(Severity::Warning);
        return Some(Beginning { located, rest, severity });
    }
    let (severity, line) = after_name(line.trim_start())?;
    let (inner, line) = match after_name(line) {
        Some((inner, after)) if direct(line).is_none() => (inner, after),
        _ => (None, line),
    };
    let severity = inner.or(severity);
    let (located, rest) = direct(line)?;
    let is_message = located.has_column || severity.is_some() || message(rest).severity.is_some();
    is_message.then_some(Beginning { located, rest, severity })
}

/// Reads what a tool prints before a place: `[lint] `, `ERROR in `, `warning: `, `eslint: `, `✖ `, with its severity.
fn after_name(line: &str) -> Option<(Option<Severity>, &str)> {
    if let Some(rest) = ITEMS.iter().find_map(|item| line.strip_prefix(item)) {
        return Some((None, rest.trim_start()));
    }
    if let Some((name, rest)) = line.strip_prefix(['[', '(']).and_then(|inside| inside.split_once([']', ')'])) {
        let is_name = name.len() < NAME && name.starts_with(|c: char| c.is_ascii_alphabetic());
        return is_name.then(|| (severity(&format!("{name}:")).map(|(severity, _)| severity), rest.trim_start()));
    }
    if let Some((severity, rest)) = severity(line).filter(|(_, rest)| rest.starts_with([':', ' '])) {
        let rest = rest.trim_start_matches([':', ' ']);
        return Some((Some(severity), rest.strip_prefix("in ").unwrap_or(rest)));
    }
    let (name, rest) = line.split_once(": ")?;
    (name.len() < NAME && is_tool(name) && !name.contains('/')).then_some((None, rest.trim_start()))
}

/// Reads a place at the start of the line, and the separator between it and its message.
fn direct(line: &str) -> Option<(LeadingPlace<'_>, &str)> {
    if let Some(line) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
        return maven_place(line).or_else(|| direct(line));
    }
    if let Some(kotlin) = line.strip_prefix("e: ").or_else(|| line.strip_prefix("w: ")) {
        return kotlin_place(kotlin.strip_prefix("file://").unwrap_or(kotlin));
    }
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let located = leading_place(line.strip_prefix("file://").unwrap_or(line))?;
    let rest = located.rest.strip_prefix(':').or_else(|| located.rest.strip_prefix(" - "))?;
    (rest.starts_with(' ') || located.rest.starts_with(" - ")).then(|| (located, rest.trim_start()))
}

/// Reads `/a/Main.kt:3:5 text`, and `/a/Main.kt: (3, 5): text` of older compilers.
fn kotlin_place(line: &str) -> Option<(LeadingPlace<'_>, &str)> {
    let (located, rest) = match line.split_once(": (") {
        Some((file, position)) if !file.contains(": ") => {
            let (position, rest) = position.split_once(')')?;
            let line = position.split(',').next()?.trim().parse().ok()?;
            (LeadingPlace { place: Place { file, line }, has_column: true, rest }, rest)
        }
        _ => leading_place(line).map(|located| (located, located.rest))?,
    };
    Some((located, rest.trim_start_matches([':', ' '])))
}

/// Returns the line without the mark that a build tool prints before each line of a message.
pub(super) fn strip_mark(line: &str) -> &str {
    MARKS.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// Reads `/a/Main.java:[5,9] text`.
fn maven_place(line: &str) -> Option<(LeadingPlace<'_>, &str)> {
    let (file, position) = line.split_once(":[")?;
    let (position, rest) = position.split_once(']')?;
    let line = position.split(',').next()?.parse().ok()?;
    Some((LeadingPlace { place: Place { file, line }, has_column: true, rest }, rest.trim_start()))
}

/// Returns the message with the text on the line below it, as the Haskell compiler prints it.
fn below<'a>(block: &Block<'a, '_>, message: Message<'a>) -> Message<'a> {
    let next = block.line(1);
    let text = if message.severity.is_some() && next.starts_with("    ") {
        next.trim().trim_start_matches("• ")
    } else {
        ""
    };
    Message { text, ..message }
}

fn message(text: &str) -> Message<'_> {
    let (severity, rest) = severity(text).map_or((None, text), |(severity, rest)| (Some(severity), rest));
    let (code, text) = match severity {
        Some(_) => leading_code(rest),
        None => bare_code(rest),
    };
    let (text, trailing) = trailing_code(text.trim());
    let by_rule = trailing.and_then(rule_severity);
    let rule = by_rule.map_or(trailing, |(_, rule)| rule);
    Message { severity: by_rule.map(|(severity, _)| severity).or(severity), code: code.or(rule), text }
}

/// Reads the text after a severity: `[E0308]: text`, ` TS2322: text`, `: text`.
fn leading_code(rest: &str) -> (Option<&str>, &str) {
    if let Some((code, text)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (Some(code), text.trim_start_matches(':'));
    }
    let text = rest.trim_start();
    match text.split_once(':') {
        Some((code, text)) if is_code(code) => (Some(code), text),
        _ => (None, text.trim_start_matches([':', ','])),
    }
}

/// Reads `F401 text` and `C0114: text`.
fn bare_code(text: &str) -> (Option<&str>, &str) {
    match text.split_once(' ') {
        Some((code, rest)) if is_code(code.trim_end_matches(':')) => (Some(code.trim_end_matches(':')), rest),
        _ => (None, text),
    }
}

/// Returns whether a word is a code: capitals, then digits.
pub(super) fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = word.len() - digits.len();
    (1..=6).contains(&letters) && (2..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads `text [-Wunused]`, `text  [arg-type]`, `text [Error/no-undef]`, `text (no-undef)`.
fn trailing_code(text: &str) -> (&str, Option<&str>) {
    let Some(open) = text.strip_suffix(']') else { return (text, None) };
    let parts = open.rsplit_once(" [").or_else(|| open.strip_prefix('[').map(|code| ("", code)));
    let Some((before, code)) = parts else { return (text, None) };
    let is_code =
        !code.is_empty() && !code.contains([' ', '"', '\'', ',']) && code.contains(|c: char| c.is_ascii_alphabetic());
    if is_code { (before.trim_end(), Some(code)) } else { (text, None) }
}

/// Reads `Error/no-undef`.
fn rule_severity(code: &str) -> Option<(Severity, Option<&str>)> {
    let (word, rule) = code.split_once('/').map_or((code, None), |(word, rule)| (word, Some(rule)));
    match word {
        "Error" => Some((Severity::Error, rule)),
        "Warning" => Some((Severity::Warning, rule)),
        _ => None,
    }
}

fn diagnostic<'a>(block: &Block<'a, '_>, place: Place<'a>, message: &Message<'a>) -> Diagnostic<'a> {
    // Only compilers with templates print severities and the path to a place.
    let place = if message.severity.is_some() { own_place(block, place) } else { place };
    let shown = block.while_after(SHOWN, |line| strip_mark(line).starts_with([' ', '\t', '|']));
    let details = details(block, shown, message);
    let text = match details.is_empty() {
        true => Cow::Borrowed(message.text),
        false if message.text.ends_with(['.', ':', ';']) => {
            Cow::Owned(format!("{} {}", message.text, details.join(" ")))
        }
        false => Cow::Owned(format!("{}: {}", message.text, details.join(", "))),
    };
    let diagnostic = Diagnostic::error(text).of(message.severity.unwrap_or(Severity::Error)).code(message.code);
    Diagnostic { shown: block.span(1 + shown), ..diagnostic.at(Some(place)) }
}

/// Returns the lines below a message that belong to its text: those with a known name, all lines that tsc indents, and
/// what follows a colon at the end of a message of kotlinc.
fn details<'a>(block: &Block<'a, '_>, shown: usize, message: &Message<'a>) -> Vec<&'a str> {
    if message.code.is_some_and(|code| code.starts_with("TS")) {
        return block.after(shown).take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    }
    if message.text.ends_with(':') && block.first().starts_with(['e', 'w']) {
        return block.after(SHOWN).take_while(|line| is_continuation(line)).map(str::trim).collect();
    }
    block.after(shown).filter_map(detail).collect()
}

fn is_continuation(line: &str) -> bool {
    !line.trim().is_empty() && !["e: ", "w: ", "> ", "FAILURE", "[", "*"].iter().any(|start| line.starts_with(start))
}

fn detail(line: &str) -> Option<&str> {
    let line = strip_mark(line).trim();
    let name = DETAILS.iter().chain(&TYPES).find(|name| line.starts_with(**name))?;
    Some(if *name == "symbol:" { line[name.len()..].trim() } else { line })
}

/// Reads `deploy.sh: line 3: text`, and the compact format of eslint.
pub(super) fn read_shell<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    if let Some(diagnostic) = annotation(block.first()) {
        found.push(diagnostic);
        return 1;
    }
    let Some((place, rest)) = line_in_words(block.first()) else { return 0 };
    let (severity, text) = compact(rest);
    let (text, code) = in_round_brackets(text);
    found.push(Diagnostic::error(text).of(severity).code(code).at(Some(place)));
    1
}

fn line_in_words(line: &str) -> Option<(Place<'_>, &str)> {
    let (file, rest) = line.split_once(": line ")?;
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..end].parse().ok()?;
    let rest = rest[end..].strip_prefix(": ").or_else(|| rest[end..].strip_prefix(", "))?;
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_file = !file.contains([' ', ':']) && !SHELLS.contains(&name);
    is_file.then_some((Place { file, line: number }, rest))
}

/// Reads `::error file=src/a.c,line=3,col=5::text`, by which a step of GitHub reports a message.
fn annotation(line: &str) -> Option<Diagnostic<'_>> {
    let (severity, rest) = severity(line.trim_start().strip_prefix("::")?)?;
    let (properties, text) = rest.strip_prefix(' ')?.split_once("::")?;
    let property = |name: &str| properties.split(',').find_map(|one| one.trim().strip_prefix(name)?.strip_prefix('='));
    let line = property("line").and_then(|line| line.parse().ok()).unwrap_or(0);
    let place = property("file").map(|file| Place { file, line });
    (severity != Severity::Info).then(|| Diagnostic::error(text.trim()).of(severity).at(place))
}

/// Reads `col 5, Error - text`; a message without it is an error.
fn compact(rest: &str) -> (Severity, &str) {
    let message =
        rest.strip_prefix("col ").and_then(|rest| rest.split_once(", ")).and_then(|(_, rest)| rest.split_once(" - "));
    match message.and_then(|(word, text)| Some((severity(&format!("{word}:"))?.0, text))) {
        Some((severity, text)) => (severity, text),
        None => (Severity::Error, rest),
    }
}

fn in_round_brackets(text: &str) -> (&str, Option<&str>) {
    match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")) {
        Some((text, rule)) if !rule.contains(' ') => (text, Some(rule)),
        _ => (text, None),
    }
}

/// Messages that only summarise earlier ones.
const SUMMARIES: [&str; 12] = [
    "could not compile ",
    "aborting due to ",
    "test failed, to rerun",
    "test run failed",
    "ld returned ",
    "linker command failed",
    "build failed",
    "Command failed",
    "command failed",
    " target failed",
    " targets failed",
    " tests were not run due to test failure",
];

pub(super) fn read_bare<'a>(block: &Block<'a, '_>, found: &mut Vec<Diagnostic<'a>>) -> usize {
    let line = block.first().trim_start();
    let Some((severity, text)) = bare_message(line) else { return 0 };
    if severity != Severity::Info && !is_summary(text) {
        found.push(Diagnostic::error(text).of(severity));
    }
    1
}

fn bare_message(line: &str) -> Option<(Severity, &str)> {
    let of_a_tool = line.split_once(": ").filter(|(tool, _)| is_tool(tool)).map(|(_, rest)| rest);
    let (severity, rest) = severity(line).or_else(|| severity(of_a_tool?))?;
    let text = rest.strip_prefix(':')?.trim();
    (!text.is_empty()).then_some((severity, text))
}

/// Returns whether the text before a severity is the name of a tool: `cc1plus`, `/usr/bin/ld`, `rust-lld`.
fn is_tool(tool: &str) -> bool {
    !tool.is_empty() && tool.len() < 80 && !tool.contains(|c: char| c.is_whitespace() || "\"'`(){}[]<>=,;".contains(c))
}

/// Returns whether a message only summarises earlier ones.
pub(super) fn is_summary(text: &str) -> bool {
    let counts = text.contains(") generated ") || text.ends_with(" emitted");
    counts || SUMMARIES.iter().any(|summary| text.contains(summary))
}
