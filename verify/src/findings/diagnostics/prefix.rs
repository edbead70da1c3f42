//! What a log prints before a line of a tool: times, marks of services that build, names of containers and tasks.

use super::place::severity;
use crate::findings::normalizer::moment;

/// The maximum number of prefixes of one line: a time, a mark, a name.
const MOST: usize = 4;
/// The maximum length of what stands in brackets, in bytes.
const BRACKET: usize = 48;

/// Returns the line without what a log printed before it. The indentation after it stays, as it belongs to the tool.
pub(super) fn strip(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..MOST {
        let Some(next) = mark(rest).or_else(|| time(rest)).or_else(|| named(rest)) else { break };
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
        let is_time = inside.len() <= BRACKET && (moment(inside.trim_start()).is_some() || is_progress(inside));
        return is_time.then(|| rest.strip_prefix(' ').unwrap_or(rest));
    }
    let rest = line[moment(line)?..].strip_prefix([' ', '\t'])?;
    Some(["| ", "- "].iter().find_map(|separator| rest.strip_prefix(separator)).unwrap_or(rest))
}

/// Returns whether a text counts: `3/7`, ` 50%`, `12.345678`, `+1.2s`, `12:00`.
fn is_progress(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || " .:/%+smh".contains(c))
}

/// Reads `web-1  | text` of containers, `web:build: text` and `packages/web build: text` of tasks.
fn named(line: &str) -> Option<&str> {
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
